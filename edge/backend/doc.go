// Package backend asks serving backends how they are: whether they answer, which models they serve, how much
// runs and waits. It only reads, by plain HTTP GETs; what a backend is able to tell depends on its kind.
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
// never holds the address of the backend, nor the text of another program.
package backend
