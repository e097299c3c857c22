"""torch.multiprocessing: what is sent is shared, and several processes train one model."""

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="descriptors are sent by sockets")

HEAD = """
    import os, sys, time
    import torchlike as torch
    import torchlike.multiprocessing as mp
    from torchlike import nn

    def begin():
        if "computed" in sys.argv:
            (torch.ones(300, 300) @ torch.ones(300, 300)).sum().item()
        if "spawn" in sys.argv:
            mp.set_start_method("spawn")
"""


def run(tmp_path, program, *words, launcher=False):
    """Run a script by its own; by the ``launcher``, one that imports torch."""
    script = tmp_path / "script.py"
    text = textwrap.dedent(HEAD) + textwrap.dedent(program)
    script.write_text(text.replace("torchlike", "torch") if launcher else text)
    command = [
        sys.executable,
        *(["-m", "torchlike", "run"] if launcher else []),
        str(script),
        *words,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done


SENDING = """
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(2, 2))

    def add(row, counts, layer, queue, event):
        row += 1
        counts[1] = 5
        layer.weight.data.fill_(2)
        assert type(layer.weight) is nn.Parameter
        if "spawn" in sys.argv or "computed" in sys.argv:
            assert layer.weight.grad is None
        made = torch.full((3,), 7.0)
        queue.put((os.getpid(), made))
        event.wait(60)
        queue.put(made.tolist())

    def doubled(t):
        return t.mul_(2)

    def answer(end):
        t = end.recv()
        t[0] = 42
        end.send((t.sum(), t))

    def raises(rank, x):
        x[rank] = 1
        if rank == 1:
            raise ValueError("in one of them")

    def locked(count, lock):
        for _ in range(50):
            with lock:
                count.value += 1

    if __name__ == "__main__":
        begin()
        x, counts, layer = torch.zeros(2, 3), torch.zeros(2, dtype=torch.int64), Layer()
        layer.share_memory()
        layer.weight.grad = torch.ones(2, 2)
        queue, event = mp.Queue(), mp.Event()
        if mp.get_start_method() == "fork":  # a copy shares nothing but what is shared before
            x.share_memory_(), counts.share_memory_()
        process = mp.Process(target=add, args=(x[1], counts, layer, queue, event))
        process.start()
        pid, made = queue.get()
        assert pid == process.pid and made.is_shared()
        made[1] = 0
        event.set()
        assert queue.get() == [7, 0, 7]
        process.join()
        assert process.exitcode == 0
        assert x.tolist() == [[0, 0, 0], [1, 1, 1]] and counts.tolist() == [0, 5]
        assert layer.weight.tolist() == [[2, 2], [2, 2]]

        mine, theirs = mp.Pipe()
        process = mp.Process(target=answer, args=(theirs,))
        process.start()
        sent = torch.zeros(4)
        mine.send(sent)
        time.sleep(0.2)  # it has ended its work, and waits until what it sent has been received
        total, same = mine.recv()
        process.join()
        assert (total.item(), sent[0].item()) == (42, 42)
        same[1] = 3
        assert sent.tolist() == [42, 3, 0, 0] and same._storage is sent._storage

        if sys.argv[1:]:  # each process takes seconds
            print("done")
            sys.exit()
        with mp.Pool(2) as pool:
            rows = [torch.ones(3) * i for i in range(4)]
            found = pool.map(doubled, rows)
        assert [t.tolist() for t in rows] == [[2.0 * i] * 3 for i in range(4)]
        assert all(torch.equal(a, b) for a, b in zip(found, rows))

        count, lock = mp.Value("i", 0), mp.Lock()
        processes = [mp.Process(target=locked, args=(count, lock)) for _ in range(2)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        assert count.value == 100

        marks = torch.zeros(3).share_memory_()
        try:
            mp.start_processes(raises, (marks,), 3, start_method=mp.get_start_method())
        except mp.ProcessRaisedException as error:
            assert "ValueError: in one of them" in str(error) and error.error_index == 1
        assert marks[1] == 1
        print("done")
"""


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("words", [("computed",), (), ("spawn",)])
def test_what_is_sent_is_shared(words, tmp_path):
    assert run(tmp_path, SENDING, *words).stdout == "done\n"


REFUSED = """
    def late(queue):
        queue.put(torch.ones(3))
        queue.put(torch.ones(100, 100, 100))
        os._exit(0)  # without what a process does at its end

    if __name__ == "__main__":
        queue = mp.SimpleQueue()
        w = torch.ones(2, requires_grad=True)
        try:
            queue.put(w * 2)
        except RuntimeError as error:
            assert "Cowardly refusing to serialize non-leaf tensor" in str(error)
        queue.put(w)
        assert queue.get().requires_grad
        process = mp.Process(target=late, args=(queue,))
        process.start()
        process.join()
        assert queue.get().tolist() == [1, 1, 1]  # small ones go by value, too
        try:
            queue.get()
        except RuntimeError as error:
            assert "from a process that has ended meanwhile" in str(error)
        for strategy in mp.get_all_sharing_strategies():
            mp.set_sharing_strategy(strategy)
            assert mp.get_sharing_strategy() == strategy
        queue.put({"image": torch.zeros(2, device="meta"), "sparse": torch.eye(2).to_sparse()})
        found = queue.get()
        assert found["image"].is_meta and found["sparse"].to_dense().tolist() == [[1, 0], [0, 1]]
        print("done")
"""


def test_what_cannot_be_sent(tmp_path):
    assert run(tmp_path, REFUSED).stdout == "done\n"


HOGWILD = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Linear(8, 16), nn.Linear(16, 4)

        def forward(self, x):
            return self.two(torch.relu(self.one(x)))

    def batches(seed):
        generator = torch.Generator().manual_seed(seed)
        for _ in range(40):
            x = torch.randn(32, 8, generator=generator)
            yield x, x[:, :4].argmax(1)

    def train(rank, model, steps):
        torch.manual_seed(rank)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
        for x, y in batches(rank):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            steps[rank] += 1

    if __name__ == "__main__":
        torch.manual_seed(0)
        model = Net()
        model.share_memory()
        steps = torch.zeros(2, dtype=torch.int64).share_memory_()
        x, y = next(batches(99))
        before = nn.functional.cross_entropy(model(x), y).item()
        mp.spawn(train, (model, steps), nprocs=2)
        after = nn.functional.cross_entropy(model(x), y).item()
        assert steps.tolist() == [40, 40]
        assert after < 0.75 * before, (before, after)
        assert all(p.is_shared() for p in model.parameters())
        print("done")
"""


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("launcher", [False, True])
def test_hogwild(tmp_path, launcher):
    assert run(tmp_path, HOGWILD, launcher=launcher).stdout == "done\n"


ACTORS = """
    class Policy(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(3, 16)
            self.actor, self.critic = nn.Linear(16, 3), nn.Linear(16, 1)

        def forward(self, x):
            h = torch.tanh(self.body(x))
            return self.actor(h), self.critic(h)

    class SharedAdam(torch.optim.Adam):
        def __init__(self, params, lr):
            super().__init__(params, lr=lr)
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    state["step"] = torch.zeros(())
                    state["exp_avg"] = torch.zeros_like(p.data)
                    state["exp_avg_sq"] = torch.zeros_like(p.data)

        def share_memory(self):
            for group in self.param_groups:
                for p in group["params"]:
                    for t in self.state[p].values():
                        t.share_memory_()

    def act(rank, shared, optimizer, count, lock):
        torch.manual_seed(10 + rank)
        local = Policy()
        for _ in range(60):
            local.load_state_dict(shared.state_dict())
            state = torch.eye(3)[torch.randint(0, 3, (16,))]
            logits, value = local(state)
            chosen = torch.multinomial(torch.softmax(logits, 1), 1)[:, 0]
            reward = (chosen == state.argmax(1)).float()
            advantage = reward - value[:, 0]
            logs = torch.log_softmax(logits, 1).gather(1, chosen[:, None])[:, 0]
            loss = (advantage**2).mean() - (advantage.detach() * logs).mean()
            local.zero_grad()
            loss.backward()
            for mine, theirs in zip(local.parameters(), shared.parameters()):
                theirs._grad = mine.grad
            optimizer.step()
            with lock:
                count.value += 1

    if __name__ == "__main__":
        torch.manual_seed(1)
        shared = Policy()
        shared.share_memory()
        optimizer = SharedAdam(shared.parameters(), lr=0.02)
        optimizer.share_memory()
        count, lock = mp.Value("i", 0), mp.Lock()
        processes = [
            mp.Process(target=act, args=(rank, shared, optimizer, count, lock)) for rank in range(2)
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
            assert process.exitcode == 0
        assert count.value == 120
        right = torch.softmax(shared(torch.eye(3))[0], 1).diagonal()
        assert right.min() > 0.6, right
        step = optimizer.state[shared.body.weight]["step"]
        assert step.is_shared() and 60 <= step.item() <= 120
        print("done")
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("launcher", [False, pytest.param(True, marks=pytest.mark.full)])
def test_actors_with_one_optimizer(tmp_path, launcher):
    assert run(tmp_path, ACTORS, launcher=launcher).stdout == "done\n"
