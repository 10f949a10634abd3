// SPDX-License-Identifier: MIT

// A client in Go of the supervisor protocol, of nothing but its published field lists: a struct for each object, written by
// encoding/json as it is, so that what nobody has set is null, "", 0 or false.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
)

type Identity struct {
	RequestID string `json:"requestID"`
	RuntimeID string `json:"runtimeID"`
	Role      string `json:"role"`
	Backend   string `json:"backend"`
}
type PortForward struct {
	Protocol  string `json:"protocol"`
	Host      string `json:"host"`
	HostPort  int    `json:"hostPort"`
	GuestPort int    `json:"guestPort"`
}
type Network struct {
	Mode         string        `json:"mode"`
	Interface    string        `json:"interface"`
	PortForwards []PortForward `json:"portForwards"`
}
type Disk struct {
	Name       string `json:"name"`
	Path       string `json:"path"`
	Mountpoint string `json:"mountpoint"`
	Mode       string `json:"mode"`
}
type Mediation struct {
	Enabled    bool   `json:"enabled"`
	Required   bool   `json:"required"`
	Port       int    `json:"port"`
	Target     string `json:"target"`
	FailClosed bool   `json:"failClosed"`
}
type Config struct {
	KernelPath string     `json:"kernelPath"`
	RootfsPath string     `json:"rootfsPath"`
	StateDir   string     `json:"stateDir"`
	MemoryMiB  int        `json:"memoryMiB"`
	CPUCount   int        `json:"cpuCount"`
	Network    *Network   `json:"network"`
	Disks      []Disk     `json:"disks"`
	Mediation  *Mediation `json:"mediation"`
}
type Request struct {
	Command  string    `json:"command"`
	Identity *Identity `json:"identity"`
	Config   *Config   `json:"config"`
}
type Response struct {
	OK      bool   `json:"ok"`
	Backend string `json:"backend"`
	Error   string `json:"error"`
	Event   *struct {
		Identity   Identity `json:"identity"`
		State      string   `json:"state"`
		ObservedAt string   `json:"observedAt"`
	} `json:"event"`
	Host *struct {
		Backend      string `json:"backend"`
		Architecture string `json:"architecture"`
	} `json:"host"`
}

func main() {
	supervisor, kernel, rootfs, stateDir := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	identity := Identity{RequestID: "req-1", RuntimeID: "agent-1", Role: "workload", Backend: "qemu"}
	config := Config{KernelPath: kernel, RootfsPath: rootfs, StateDir: stateDir, MemoryMiB: 256, CPUCount: 1}
	isolated := config
	isolated.Network = &Network{Mode: "isolated"}
	requests := []Request{{Command: "host"}, {"check", &identity, &config}, {"prepare", &identity, &isolated},
		{"start", &identity, &isolated}, {"inspect", &identity, &Config{StateDir: stateDir}},
		{"halt", &identity, &Config{StateDir: stateDir}}, {"delete", &identity, &Config{StateDir: stateDir}}}
	for _, request := range requests {
		var response Response
		text, err := json.Marshal(request)
		if err != nil {
			panic(err)
		}
		command := exec.Command(supervisor)
		command.Stdin = bytes.NewReader(text)
		answer, _ := command.Output()
		if err := json.Unmarshal(answer, &response); err != nil {
			panic(err)
		}
		told := response.Error
		if response.Event != nil {
			told = response.Event.State
		} else if response.Host != nil {
			told = response.Host.Backend
		}
		fmt.Println(request.Command, response.OK, told)
	}
}
