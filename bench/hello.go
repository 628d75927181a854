package main

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// operations are those that an iop-edge lists.
var operations = []string{"config.apply", "config.show", "edge.ping", "node.drain", "node.resume",
	"provider.disable", "provider.enable", "run.cancel", "run.list"}

var began = time.Now()

// hello is as long as that of an iop-edge whose site has a name and a few labels.
func hello(number int) *iopv1.EdgeHelloRequest {
	return &iopv1.EdgeHelloRequest{
		EdgeId: edgeID(number), Name: fmt.Sprintf("Inference site %05d", number), Version: "v1.4.2", ProtocolVersion: wire.ProtocolVersion,
		Labels:     map[string]string{"region": regions[number%len(regions)], "site": fmt.Sprintf("dc-%05d", number), "tier": "production"},
		Operations: operations, StartedAt: timestamppb.New(began), InstanceId: fmt.Sprintf("BENCHINSTANCEOFTHEEDGE%04d", number%10_000),
	}
}

var regions = []string{"ap-northeast-2", "eu-central-1", "us-east-1", "us-west-2"}
