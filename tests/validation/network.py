"""A network of machines on this one: a network namespace for each, links that are as fast and as long as wanted.

Only to be used inside `unshare --net --mount --pid --fork --kill-child`, so that nothing of it can be left and no interface of the
machine is touched: see `enter`."""
import os
import shutil
import subprocess
import sys

MTU = 9000
INSIDE = "SYNCOPATE_VALIDATION"
SYSCTLS = {  # long fast ways want large windows, which stay as large while a worker computes
    "net.ipv4.tcp_slow_start_after_idle": "0",
    "net.ipv4.tcp_no_metrics_save": "1",
    # Takes what bandwidth there is at once, where BBR needs many round trips to find it when another connection has stopped; and a namespace may choose it.
    "net.ipv4.tcp_congestion_control": "reno",
    "net.ipv4.tcp_rmem": "4096 1048576 67108864",
    "net.ipv4.tcp_wmem": "4096 1048576 67108864",
}
NAMESPACES = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
REAL_TIME = ["chrt", "--fifo", "10"]  # a worker stands for a machine of its own: it does not wait for others' time slices


def missing():
    """Why there can be no network here, or None."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    needed = ("setpriv", "unshare", "nsenter", "chrt", "ip", "tc")
    lacking = [name for name in needed if shutil.which(name) is None]
    if lacking:
        return f"no {', '.join(lacking)} (Debian: iproute2, util-linux)"
    tried = ("ip link add name v0 type veth peer name v1 && ip link add name b type bridge && tc qdisc add dev v0 root tbf rate 1gbit burst 20kb limit 1mb && "
             "ip tuntap add dev t0 mode tap && chrt --fifo 10 true && echo reno > /proc/sys/net/ipv4/tcp_congestion_control")
    trial = subprocess.run([*NAMESPACES, "sh", "-c", tried], capture_output=True, text=True)
    return None if trial.returncode == 0 else f"no namespaces with shaped links: {' '.join(trial.stderr.split())}"


def enter():
    """Starts this program once more in namespaces of its own, which vanish with it or with this one, and ends as that one does."""
    if os.environ.get(INSIDE):
        return
    command = ["setpriv", "--pdeathsig", "KILL", *NAMESPACES, sys.executable, *sys.argv]
    try:
        sys.exit(subprocess.run(command, env={**os.environ, INSIDE: "1"}).returncode)
    except KeyboardInterrupt:
        sys.exit(130)


def run(*command):
    subprocess.run(command, check=True, capture_output=True, text=True)


def room(bandwidth, delay):
    """Bytes that may wait before a link: 50 ms of them, or what comes in two round trips."""
    return int(max(max(0.05, 4 * delay) * bandwidth, 262144))


class Network:
    """`nodes` machines, each with a link of `bandwidth` bytes/s in both directions. `delays[i][j]` is what messages from i to j take
    besides, in seconds."""

    def __init__(self, nodes, bandwidth, delays=None, relay=None):
        self.nodes, self.bandwidth = nodes, bandwidth
        self.longest_delay = max(map(max, delays)) if delays else 0.0
        self.holders, self.relay = [], None
        try:
            for node in range(nodes):
                self.holders.append(subprocess.Popen(["unshare", "--net", "--uts", "sh", "-c", f"hostname node{node}; echo; exec sleep infinity"],
                                                     stdout=subprocess.PIPE))
                self.holders[-1].stdout.readline()
            if delays and any(any(row) for row in delays):
                self.connect_by_relay(relay, delays)
            else:
                self.connect_by_bridge()
            for node in range(nodes):
                self.configure(node)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for process in [*self.holders, self.relay]:
            if process:
                process.kill()
                process.wait()
        subprocess.run(["ip", "link", "delete", "bridge0"], capture_output=True)

    def connect_by_bridge(self):
        run("ip", "link", "add", "name", "bridge0", "type", "bridge")
        run("ip", "link", "set", "bridge0", "up")
        for node, holder in enumerate(self.holders):
            port = f"port{node}"
            run("ip", "link", "add", "name", port, "type", "veth", "peer", "name", "eth0", "netns", str(holder.pid))
            run("ip", "link", "set", port, "mtu", str(MTU), "gso_max_size", str(self.most_at_once()), "master", "bridge0", "up")
            self.shape([], port)

    def connect_by_relay(self, relay, delays):
        ways = [str(delay) for row in delays for delay in row]
        pids = [str(holder.pid) for holder in self.holders]
        self.relay = subprocess.Popen([*REAL_TIME, str(relay), str(MTU), str(self.bandwidth), str(self.queue()), *pids, "--", *ways],
                                      stdout=subprocess.PIPE, text=True)
        if self.relay.stdout.readline() != "ready\n":
            raise RuntimeError("the relay did not start")

    def most_at_once(self):
        """Bytes that TCP hands over together: what a link moves in 0.15 ms, if that is more than a frame."""
        return int(min(max(self.bandwidth * 150e-6, MTU + 100), 65536))

    def queue(self):
        return room(self.bandwidth, self.longest_delay)

    def sent_again(self):
        """TCP segments that all machines have had to send once more."""
        total = 0
        for node in range(self.nodes):
            names, values = [line.split() for line in subprocess.run([*self.inside(node), "cat", "/proc/net/snmp"], check=True, capture_output=True, text=True)
                             .stdout.splitlines() if line.startswith("Tcp:")]
            total += int(values[names.index("RetransSegs")])
        return total

    def shape(self, where, device):
        run(*where, "tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", f"{int(8 * self.bandwidth)}bit",
            "burst", str(int(1.2 * self.most_at_once())), "limit", str(self.queue()))

    def inside(self, node):
        return ["nsenter", f"--net=/proc/{self.holders[node].pid}/ns/net", f"--uts=/proc/{self.holders[node].pid}/ns/uts"]

    def configure(self, node):
        there = self.inside(node)
        run(*there, "ip", "link", "set", "lo", "up")
        run(*there, "ip", "link", "set", "eth0", "address", f"02:00:00:00:00:{node + 1:02x}", "mtu", str(MTU), "gso_max_size",
            str(self.most_at_once()))
        run(*there, "ip", "address", "add", f"{self.address(node)}/24", "dev", "eth0")
        run(*there, "ip", "link", "set", "eth0", "up")
        for other in range(self.nodes):
            if other != node:
                run(*there, "ip", "neighbour", "add", self.address(other), "lladdr", f"02:00:00:00:00:{other + 1:02x}", "dev", "eth0", "nud", "permanent")
        self.shape(there, "eth0")
        for name, value in SYSCTLS.items():
            run(*there, "sh", "-c", f'echo "{value}" > /proc/sys/{name.replace(".", "/")}')

    @staticmethod
    def address(node):
        return f"10.0.0.{node + 1}"

    def start(self, node, command, **options):
        return subprocess.Popen([*self.inside(node), *REAL_TIME, *map(str, command)], **options)

    def run_all(self, commands, timeout):
        """Runs commands[i] on node i, all at once."""
        processes = [self.start(node, command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for node, command in enumerate(commands)]
        try:
            results = [process.communicate(timeout=timeout) for process in processes]
        except subprocess.TimeoutExpired as slow:
            raise RuntimeError(f"not done in {timeout} s: {slow.cmd}") from None
        finally:
            for process in processes:
                process.kill()
        failed = [f"rank {rank}: {errors.strip()}" for rank, (process, (_, errors)) in enumerate(zip(processes, results)) if process.returncode != 0]
        if failed:
            raise RuntimeError(f"{commands[0][0]}: {'; '.join(failed)}")
