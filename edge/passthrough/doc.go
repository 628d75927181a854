// Package passthrough is the way for requests through an Edge: OpenAI's API, each request under a lease.
//
//	POST /v1/chat/completions   POST /v1/completions   GET /v1/models
//
// A request is read whole (at most 16 MiB), takes a lease on a provider of its model, waiting in the queue for at most
// QueueTimeout, and is proxied to the provider; the answer streams back as it comes. The lease is given back when the answer
// has ended, the caller hung up, or the provider failed.
//
// # Long context
//
// A request whose body in bytes, divided by 4, is more than LongContextTokens takes long-context room. That is an
// estimate: about four bytes make a token of English text, the JSON around it counts as well, and no tokenizer of any
// model is asked. max_tokens isn't counted.
//
// # Errors
//
// What the Edge itself has to say is an object in OpenAI's shape, {"error":{"message","type","param","code"}}:
//
//	400 invalid_request          the body isn't a JSON object that names a model
//	400 context_length_exceeded  it is long, and no provider of the model takes long context
//	401 invalid_api_key          a token is needed
//	403 cross_origin             a browser sent it from another site
//	404 model_not_found          no provider serves the model
//	404 unknown_url              another path or method than those above
//	413 request_too_large        over 16 MiB
//	429 queue_full               nobody has room, and no more may wait; Retry-After
//	502 provider_failed          the provider didn't answer, or with a redirect
//	503 no_provider              the model's providers are drained, disabled or offline, or one has yet to tell its models; Retry-After
//	503 queue_timeout            nobody had room in time; Retry-After
//	503 overloaded               too many bytes of requests are held already; Retry-After
//	503 provider_gone            the node of the provider went away meanwhile; Retry-After
//	503 cancelled                an operator cancelled the run
//	504 run_timeout              it ran for an hour
//
// An answer that has begun can only be cut, and is. Answers of providers pass as they are, without the headers that
// could name their address.
package passthrough
