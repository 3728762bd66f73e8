// Reads metrics as a program does that is generated from OTG's protos: it follows the pointer to every number, and ends
// with an error if one is absent. It asks until no flow transmits any more, and prints what it read last.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"

	pb "client/otg"
)

type ask func(*pb.MetricsRequest) (*pb.MetricsResponse, error)

func overGrpc(location string) (ask, error) {
	connection, err := grpc.NewClient(location, grpc.WithTransportCredentials(insecure.NewCredentials()))
	return func(request *pb.MetricsRequest) (*pb.MetricsResponse, error) {
		answer := &pb.GetMetricsResponse{}
		wanted := &pb.GetMetricsRequest{MetricsRequest: request}
		err := connection.Invoke(context.Background(), "/otg.Openapi/GetMetrics", wanted, answer)
		return answer.GetMetricsResponse(), err
	}, err
}

func overHttp(location string) (ask, error) {
	return func(request *pb.MetricsRequest) (*pb.MetricsResponse, error) {
		body, err := protojson.Marshal(request)
		if err != nil {
			return nil, err
		}
		said, err := http.Post(location+"/monitor/metrics", "application/json", bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		defer said.Body.Close()
		text, err := io.ReadAll(said.Body)
		if err != nil {
			return nil, err
		}
		answer := &pb.MetricsResponse{}
		// Fields that OTG does not define are an error.
		return answer, protojson.Unmarshal(text, answer)
	}, nil
}

// numbers follows the pointers to all numbers of a metric except those that may be unknown.
func numbers(metric any, unknown ...string) map[string]float64 {
	found := map[string]float64{}
	fields := reflect.ValueOf(metric).Elem()
	for place := range fields.NumField() {
		name, field := fields.Type().Field(place).Name, fields.Field(place)
		if field.Kind() != reflect.Ptr {
			continue
		}
		switch kind := field.Type().Elem().Kind(); {
		case kind != reflect.Uint64 && kind != reflect.Uint32 && kind != reflect.Float32:
			continue
		case field.IsNil():
			for _, each := range unknown {
				if each == name {
					name = ""
				}
			}
			if name != "" {
				panic(fmt.Sprintf("%T has no %s", metric, name))
			}
		case kind == reflect.Float32:
			found[name] = field.Elem().Float()
		default:
			found[name] = float64(field.Elem().Uint())
		}
	}
	return found
}

func read(request ask) (map[string]map[string]float64, bool) {
	found, over := map[string]map[string]float64{}, true
	metrics := func(choice pb.MetricsRequest_Choice_Enum) *pb.MetricsResponse {
		wanted := &pb.MetricsRequest{Choice: &choice}
		switch choice {
		case pb.MetricsRequest_Choice_port:
			wanted.Port = &pb.PortMetricsRequest{}
		case pb.MetricsRequest_Choice_lag:
			wanted.Lag = &pb.LagMetricsRequest{}
		default:
			wanted.Flow = &pb.FlowMetricsRequest{}
		}
		answer, err := request(wanted)
		if err != nil {
			panic(err)
		}
		return answer
	}
	for _, port := range metrics(pb.MetricsRequest_Choice_port).PortMetrics {
		found[*port.Name] = numbers(port, "LastChange", "Speed")
	}
	for _, lag := range metrics(pb.MetricsRequest_Choice_lag).LagMetrics {
		found[*lag.Name] = numbers(lag)
	}
	for _, flow := range metrics(pb.MetricsRequest_Choice_flow).FlowMetrics {
		found[*flow.Name] = numbers(flow, "Loss")
		over = over && *flow.Transmit == pb.FlowMetric_Transmit_stopped
	}
	return found, over
}

func main() {
	begin := map[string]func(string) (ask, error){"grpc": overGrpc, "http": overHttp}[os.Args[1]]
	request, err := begin(os.Args[2])
	if err != nil {
		panic(err)
	}
	read(request)
	fmt.Println("ready")
	fmt.Scanln()
	for {
		if found, over := read(request); over {
			_ = json.NewEncoder(os.Stdout).Encode(found)
			return
		}
	}
}
