// Package backend asks serving backends for their state: whether they answer, which models they serve, how many requests
// run and wait. It only reads, by plain HTTP GETs; what a backend exports depends on its kind.
//
//	kind      alive         models       running and waiting             slots
//	vllm      /health       /v1/models   /metrics                        -
//	sglang    /health       /v1/models   /metrics (--enable-metrics)     -
//	llamacpp  /health       /v1/models   /metrics (--metrics)            /props
//	tgi       /health       /info        /metrics                        -
//	ollama    /api/version  /api/tags    -                               -
//	openai    /v1/models    /v1/models   -                               -
//
// Every answer is bounded in bytes and by the caller's context. An error of this package is a fixed sentence: it
// never contains the address of the backend or the text of another program.
package backend
