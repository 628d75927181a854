// Package passthrough proxies requests through an Edge: it serves OpenAI's API, and each request takes a lease.
//
//	POST /v1/chat/completions   POST /v1/completions   GET /v1/models
//
// A request is read whole (at most 16 MiB), takes a lease on a provider of its model, waiting in the queue for at most
// QueueTimeout, and is proxied to the provider; the answer streams back as it comes. The lease is given back when the answer
// has ended, the caller hung up, or the provider failed.
//
// # Long context
//
// A request whose body has more than LongContextTokens tokens, estimated as bytes / 4, takes long-context capacity. (English
// has about four bytes per token. The JSON around the text counts too, no tokenizer is used, and max_tokens doesn't count.)
//
// # Errors
//
// The Edge's own errors are objects as OpenAI's API has them, {"error":{"message","type","param","code"}}:
//
//	400 invalid_request          the body isn't a JSON object with a member "model"; of several the last counts
//	400 context_length_exceeded  a long request, and no provider of the model takes these
//	401 invalid_api_key          a token is needed
//	403 cross_origin             a browser sent it from another site; or there is no Token, and the Host isn't loopback's
//	404 model_not_found          no provider serves the model
//	404 unknown_url              no such path, as it is written, or method
//	413 request_too_large        over 16 MiB
//	429 queue_full               no capacity is free, and too many requests wait already; Retry-After
//	502 provider_failed          the provider didn't answer, or answered with a redirect
//	503 no_provider              the model's providers are drained, disabled or offline, or a provider hasn't reported its models yet; Retry-After
//	503 queue_timeout            it waited for QueueTimeout; Retry-After
//	503 overloaded               too many bytes of requests are held already; Retry-After
//	503 provider_gone            the provider went away during the request; Retry-After
//	503 cancelled                an operator cancelled the request
//	504 run_timeout              it ran for an hour
//
// An answer that has begun can't change its status any more, so in these cases it is cut. Answers of providers are passed on
// unchanged, but for Location, Link, Server and other standard headers that tell of where they are from.
package passthrough
