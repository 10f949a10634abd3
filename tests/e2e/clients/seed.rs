// SPDX-License-Identifier: MIT

//! A client in Rust of the supervisor protocol, of nothing but its published field lists. `text()` writes what serde derives: each
//! field of a struct in its order, and null for None.

use std::io::Write;
use std::process::{Command, Stdio};

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn or_null<T>(value: &Option<T>, text: impl Fn(&T) -> String) -> String {
    value.as_ref().map_or("null".to_string(), text)
}

struct Network {
    mode: String,
    interface: Option<String>,
    port_forwards: Option<Vec<String>>,
}

#[derive(Default)]
struct Config {
    kernel_path: Option<String>,
    rootfs_path: Option<String>,
    state_dir: String,
    memory_mib: Option<u64>,
    cpu_count: Option<u64>,
    network: Option<Network>,
    disks: Option<Vec<String>>,
    mediation: Option<String>,
}

impl Config {
    fn text(&self) -> String {
        format!(
            "{{\"kernelPath\":{},\"rootfsPath\":{},\"stateDir\":{},\"memoryMiB\":{},\"cpuCount\":{},\"network\":{},\"disks\":{},\"mediation\":{}}}",
            or_null(&self.kernel_path, |path| quoted(path)),
            or_null(&self.rootfs_path, |path| quoted(path)),
            quoted(&self.state_dir),
            or_null(&self.memory_mib, u64::to_string),
            or_null(&self.cpu_count, u64::to_string),
            or_null(&self.network, |network| format!(
                "{{\"mode\":{},\"interface\":{},\"portForwards\":{}}}",
                quoted(&network.mode),
                or_null(&network.interface, |name| quoted(name)),
                or_null(&network.port_forwards, |list| format!("[{}]", list.join(",")))
            )),
            or_null(&self.disks, |list| format!("[{}]", list.join(","))),
            or_null(&self.mediation, |object| object.clone())
        )
    }
}

/// The text behind the last `"key":"` of the answer, whose objects come before.
fn member<'a>(answer: &'a str, key: &str) -> Option<&'a str> {
    let begin = answer.rfind(&format!("\"{}\":\"", key))? + key.len() + 4;
    answer[begin..].split('"').next()
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let whole = |network: Option<Network>| Config {
        kernel_path: Some(words[2].clone()),
        rootfs_path: Some(words[3].clone()),
        state_dir: words[4].clone(),
        memory_mib: Some(256),
        cpu_count: Some(1),
        network,
        ..Config::default()
    };
    let isolated = || whole(Some(Network { mode: "isolated".to_string(), interface: None, port_forwards: None }));
    let sparse = || Config { state_dir: words[4].clone(), ..Config::default() };
    let requests = vec![
        ("host", None),
        ("check", Some(whole(None))),
        ("prepare", Some(isolated())),
        ("start", Some(isolated())),
        ("inspect", Some(sparse())),
        ("halt", Some(sparse())),
        ("delete", Some(sparse())),
    ];
    for (command, config) in requests {
        let identity = r#"{"requestID":"req-1","runtimeID":"agent-1","role":"workload","backend":"qemu"}"#;
        let request = format!(
            "{{\"command\":{},\"identity\":{},\"config\":{}}}",
            quoted(command),
            if config.is_some() { identity } else { "null" },
            or_null(&config, Config::text)
        );
        let mut child = Command::new(&words[1]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(request.as_bytes()).unwrap();
        let answer = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        let key = if command == "host" { "backend" } else { "state" };
        let told = member(&answer, "error").or(member(&answer, key)).unwrap_or("");
        println!("{} {} {}", command, answer.contains("\"ok\":true"), told);
    }
}
