// A gosnappi program against `keisoku serve`: one flow between two ports, over HTTP or gRPC. It prints how many frames were
// sent and received, and the loss in per cent.
//
//	go run . http://127.0.0.1:8443 http sim:gs908e#1 sim:gs908e#2
//	go run . 127.0.0.1:40051 grpc lab:bridge#1 lab:bridge#2
package main

import (
	"fmt"
	"log"
	"os"
	"time"

	"github.com/open-traffic-generator/snappi/gosnappi"
)

func main() {
	if len(os.Args) != 5 {
		log.Fatal("give LOCATION, http or grpc, and two ports")
	}
	location, transport := os.Args[1], os.Args[2]
	api := gosnappi.NewApi()
	if transport == "grpc" {
		api.NewGrpcTransport().SetLocation(location).SetRequestTimeout(30 * time.Second)
	} else {
		api.NewHttpTransport().SetLocation(location)
	}
	config := gosnappi.NewConfig()
	config.Ports().Add().SetName("p1").SetLocation(os.Args[3])
	config.Ports().Add().SetName("p2").SetLocation(os.Args[4])
	flow := config.Flows().Add().SetName("f1")
	flow.TxRx().Port().SetTxName("p1").SetRxNames([]string{"p2"})
	flow.Size().SetFixed(128)
	flow.Rate().SetPps(1000)
	flow.Duration().FixedPackets().SetPackets(500)
	flow.Metrics().SetEnable(true).SetLoss(true)
	ethernet := flow.Packet().Add().Ethernet()
	ethernet.Src().SetValue("02:00:00:00:0a:01")
	ethernet.Dst().SetValue("02:00:00:00:0a:02")
	ip := flow.Packet().Add().Ipv4()
	ip.Src().SetValue("198.18.1.2")
	ip.Dst().SetValue("198.18.2.2")
	flow.Packet().Add().Udp().DstPort().Increment().SetStart(6000).SetCount(8)
	if _, err := api.SetConfig(config); err != nil {
		log.Fatal("SetConfig: ", err)
	}
	state := gosnappi.NewControlState()
	state.Traffic().FlowTransmit().SetState(gosnappi.StateTrafficFlowTransmitState.START)
	if _, err := api.SetControlState(state); err != nil {
		log.Fatal("SetControlState: ", err)
	}
	request := gosnappi.NewMetricsRequest()
	request.Flow()
	for {
		answer, err := api.GetMetrics(request)
		if err != nil {
			log.Fatal("GetMetrics: ", err)
		}
		metric := answer.FlowMetrics().Items()[0]
		if metric.Transmit() == gosnappi.FlowMetricTransmit.STOPPED {
			fmt.Println(metric.FramesTx(), metric.FramesRx(), metric.Loss())
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if _, err := api.SetConfig(gosnappi.NewConfig()); err != nil {
		log.Fatal("SetConfig: ", err)
	}
}
