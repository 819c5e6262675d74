# A Ray cluster on loopback: a head without cores, which clients ask, and raylets that work. Ends with its input.
import json
import os
import signal
import socket
import sys

os.environ['RAY_USAGE_STATS_ENABLED'] = '0'
from ray.cluster_utils import Cluster


def free_port():
    with socket.socket() as one:
        one.bind(('127.0.0.1', 0))
        return one.getsockname()[1]


def raylet_of(node):
    return node.all_processes['raylet'][0].process.pid


out = os.fdopen(os.dup(1), 'w')
os.dup2(2, 1)
port = free_port()
head = {'num_cpus': 0, 'include_dashboard': False, 'ray_client_server_port': port}
cluster = Cluster(initialize_head=True, head_node_args=head)
raylets = [cluster.add_node(num_cpus=1) for _ in range(int(sys.argv[1]))]
cluster.wait_for_nodes()


def report():
    print(json.dumps({'port': port, 'raylets': [raylet_of(one) for one in raylets]}), file=out, flush=True)


report()
for line in sys.stdin:
    # A raylet dies as a machine does, and another one comes.
    one = raylets.pop(0)
    os.kill(raylet_of(one), signal.SIGKILL)
    cluster.remove_node(one, allow_graceful=False)
    raylets.append(cluster.add_node(num_cpus=1))
    report()
cluster.shutdown()
