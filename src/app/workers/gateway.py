# For: give tasks of bands to Ray, without reading them.
# In: frames on standard input: settings, data of a job, tasks, the end of a job.
# Out: frames on standard output: the cluster, then the answer to each task, or why there is none.
import json
import os
import socket
import struct
import sys
import threading

HEAD = struct.Struct('<cIIQ')  # kind, job, task, number of bytes that follow
out = os.fdopen(os.dup(1), 'wb')
os.dup2(2, 1)  # other programs print there


def send(kind, data, job=0, task=0):
    out.write(HEAD.pack(kind, job, task, len(data)) + data)
    out.flush()


def give_up(why, text):
    send(b'X', json.dumps({'why': why, 'text': text}).encode())
    os._exit(1)


def frames():
    source = sys.stdin.buffer
    while len(head := source.read(HEAD.size)) == HEAD.size:
        kind, job, task, size = HEAD.unpack(head)
        yield kind, job, task, source.read(size)


def first_line(error):
    return (str(error).strip() or type(error).__name__).splitlines()[0]


incoming = frames()
about = json.loads(next(incoming)[3])
try:
    import ray
except ImportError:
    give_up('no ray', '')


def ask(start, key, pieces, about):
    """In a worker of Ray: one process of bands each, kept between tasks. Start data are in a list, so that Ray leaves them."""
    import builtins, os, shutil, socket, struct, subprocess
    import ray

    def put(data):
        own.stdin.write(struct.pack('<Q', len(data)) + data)
        own.stdin.flush()

    def get():
        parts, wanted = [], 8
        for _ in range(2):
            data = own.stdout.read(wanted)
            if len(data) < wanted:
                # The process died. So does this worker, and Ray repeats the task in another one.
                os._exit(1)
            wanted = struct.unpack('<Q', data)[0] if not parts else 0
            parts.append(data)
        return parts[1]

    known, own = getattr(builtins, 'bands', (None, None))
    try:
        if known != key:
            if own is not None:
                own.kill()
                own.wait()
            host = about['host']
            if not os.path.exists(host):
                found = shutil.which('bands')
                host = found and os.path.join(os.path.dirname(os.path.realpath(found)), '../dist/workers/host.js')
            node = about['node'] if os.path.exists(about['node']) else shutil.which('node')
            if not node or not host or not os.path.exists(host):
                raise RuntimeError(f"{socket.gethostname()} has no bands; npm install --global bands@{about['version']}")
            own = subprocess.Popen([node, host], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            builtins.bands = (None, own)
            theirs = get().decode()
            if theirs != about['identity']:
                own.kill()
                raise RuntimeError(f"{socket.gethostname()} has bands {theirs}, and not {about['identity']}")
            put(ray.get(start[0]))
            builtins.bands = (key, own)
        put(pieces)
        return get()
    except OSError:
        os._exit(1)


os.environ.setdefault('RAY_USAGE_STATS_ENABLED', '0')
ATTEMPTS = 3
quiet = {'logging_level': 'ERROR', 'log_to_driver': False}
try:
    for attempt in range(ATTEMPTS):
        try:
            if about['address'] == 'ray' and not os.environ.get('RAY_ADDRESS'):
                ray.init(address='local', num_cpus=about['cpus'], include_dashboard=False, **quiet)
            else:
                ray.init(address=None if about['address'] == 'ray' else about['address'], **quiet)
            break
        except ConnectionAbortedError:
            # The server that Ray starts for each client was not ready in time.
            if attempt + 1 == ATTEMPTS:
                raise
    cpus = int(ray.cluster_resources().get('CPU', 1))
except ImportError as error:
    give_up('no ray', first_line(error))
except Exception as error:
    give_up('no cluster', first_line(error))
send(b'C', json.dumps({'ray': ray.__version__, 'cpus': cpus}).encode())

run = ray.remote(num_cpus=1, max_retries=about['retries'])(ask)
new = threading.Event()
lock = threading.Lock()
asked = {}  # reference -> job and task


def collect():
    while True:
        with lock:
            waiting = list(asked)
        if not waiting:
            new.wait()
            new.clear()
            continue
        done, _ = ray.wait(waiting, num_returns=1, timeout=0.05)
        for one in done:
            with lock:
                job, task = asked.pop(one, (None, None))
            if job is None:
                continue
            try:
                send(b'A', ray.get(one), job, task)
            except ray.exceptions.RayTaskError as error:
                send(b'F', first_line(error.cause).encode(), job, task)
            except ray.exceptions.RayError as error:
                send(b'F', first_line(error).encode(), job, task)


def collect_or_end():
    try:
        collect()
    except BaseException as error:
        give_up('lost', first_line(error))


def cancel(job=None):
    with lock:
        gone = [one for one, (of, _) in asked.items() if job in (None, of)]
        for one in gone:
            del asked[one]
    for one in gone:
        ray.cancel(one, force=True)


threading.Thread(target=collect_or_end, daemon=True).start()
starts = {}
own = f'{socket.gethostname()} {os.getpid()}'
try:
    for kind, job, task, data in incoming:
        if kind == b'D':
            starts[job] = ray.put(data)
        elif kind == b'T':
            one = run.remote([starts[job]], f'{own} {job}', data, about)
            with lock:
                asked[one] = (job, task)
            new.set()
        elif kind == b'E':
            cancel(job)
            starts.pop(job, None)
    cancel()
    ray.shutdown()
except BaseException as error:
    give_up('lost', first_line(error))
os._exit(0)
