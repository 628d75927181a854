package actors

import "iop/wire"

// The faults that actors give to fronts. They are shared and never changed.
var (
	faultEdgeNotFound      = &wire.Fault{Code: wire.EdgeNotFound, Message: "no Edge with this id is known"}
	faultDisconnected      = &wire.Fault{Code: wire.EdgeDisconnected, Message: "the Edge is known, but has no connection now"}
	faultSuperseded        = &wire.Fault{Code: wire.EdgeDisconnected, Message: "a newer connection of the Edge took over while it was asked"}
	faultLeaving           = &wire.Fault{Code: wire.EdgeDisconnected, Message: "the Edge said goodbye and takes no more commands"}
	faultLost              = &wire.Fault{Code: wire.EdgeDisconnected, Message: "the connection ended before the Edge answered"}
	faultNotUTF8           = &wire.Fault{Code: wire.InvalidRequest, Message: "the command has text that is not UTF-8"}
	faultBusy              = &wire.Fault{Code: wire.EdgeBusy, Message: "the Edge has too many unanswered requests"}
	faultTimeout           = &wire.Fault{Code: wire.EdgeTimeout, Message: "the Edge did not answer in time"}
	faultNotSent           = &wire.Fault{Code: wire.EdgeTimeout, Message: "the command could not be written to the Edge in time, and was taken back"}
	faultEdgeError         = &wire.Fault{Code: wire.EdgeError, Message: "the Edge answered with an error"}
	faultNonsense          = &wire.Fault{Code: wire.EdgeError, Message: "the Edge's answer does not fit what it was asked"}
	faultShuttingDown      = &wire.Fault{Code: wire.ShuttingDown, Message: "the Control Plane is stopping"}
	faultOperationNotFound = &wire.Fault{Code: wire.OperationNotFound, Message: "this Edge has no such operation on record"}
	faultKeyReused         = &wire.Fault{Code: wire.IdempotencyConflict, Message: "this Idempotency-Key was used with another body"}
	faultSystem            = &wire.Fault{Code: wire.Internal, Message: "the Control Plane did not answer itself in time"}
)
