"""Corruptions, streams, the benchmark and methods written in Python."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np
import torch

import sotta
from networks import ROOT, STD, MEAN, WEIGHTS, images, trained


class Follow(sotta.Method):
    """Lets the running averages follow the stream, and trains nothing."""

    options = {"rate": 0.1}

    def setup(self):
        self.windows = torch.zeros(1, dtype=torch.int64)

    def update(self, window):
        with torch.no_grad():
            seen = self.forward(window, "batch")
        self.state.running_mean.lerp_(seen.batch_mean, self.options["rate"])
        self.state.running_var.lerp_(seen.batch_var, self.options["rate"])
        self.windows += 1

    def state_dict(self):
        return {"windows": self.windows}


class PlainTent(sotta.Method):
    """TENT with plain gradient steps, in a few lines."""

    label = "Plain TENT"
    options = {"rate": 0.001}
    prediction_stats = "batch"

    def update(self, window):
        leaf = self.state.affine.detach().requires_grad_()
        logits = self.forward(window, "batch", leaf).logits
        loss = -(logits.softmax(1) * logits.log_softmax(1)).sum(1).mean()
        self.state.affine -= self.options["rate"] * self.gradient(loss, leaf)
        return loss


def wrapped(method, **options):
    return sotta.wrap(trained(), example=images(2), mean=MEAN, std=STD, method=method, **options)


class Corruptions(unittest.TestCase):
    def test_tensors_and_arrays_get_the_same_bytes(self):
        batch = images(4, 3, 32)
        fog = sotta.corrupt(batch, "fog", 5)
        self.assertEqual((fog.shape, fog.dtype), (batch.shape, torch.uint8))
        self.assertFalse(torch.equal(fog, batch))
        array = batch.permute(0, 2, 3, 1).contiguous().numpy()
        found = sotta.corrupt(array, "fog", 5)
        self.assertIsInstance(found, np.ndarray)
        self.assertTrue(np.array_equal(found, fog.permute(0, 2, 3, 1).numpy()))
        self.assertTrue(torch.equal(sotta.corrupt(batch[2:], "fog", indices=[2, 3]), fog[2:]))
        self.assertFalse(torch.equal(sotta.corrupt(batch, "fog", 5, seed=1), fog))

    def test_every_kind_runs_and_bad_ones_are_refused(self):
        for kind in sotta.corruptions():
            self.assertEqual(sotta.corrupt(images(1, 3, 32), kind, 1).shape, (1, 3, 32, 32))
        for arguments in (("fgo", 5), ("fog", 6), ("fog", 0)):
            with self.assertRaises(sotta.Error):
                sotta.corrupt(images(1, 3, 32), *arguments)
        with self.assertRaisesRegex(sotta.Error, "uint8"):
            sotta.corrupt(images(1, 3, 32).float(), "fog")
        with self.assertRaisesRegex(sotta.Error, "N, C, H, W"):
            sotta.corrupt(images(1, 3, 32)[0], "fog")
        with self.assertRaisesRegex(sotta.Error, "one index per image"):
            sotta.corrupt(images(2, 3, 32), "fog", indices=[1])


class Streams(unittest.TestCase):
    def setUp(self):
        self.images, self.labels = images(50, 3, 32), torch.arange(50) % 5

    def test_images_of_ones_own_come_in_a_seeded_order_with_their_labels(self):
        stream = sotta.Stream(self.images, labels=self.labels, classes=5, window=16, seed=3)
        self.assertEqual((len(stream), stream.samples, stream.shape), (4, 50, (3, 32, 32)))
        batches = list(stream)
        self.assertEqual([len(x) for x, _ in batches], [16, 16, 16, 2])
        found = torch.cat([x for x, _ in batches])
        self.assertFalse(torch.equal(found, self.images))
        by_bytes = {bytes(x.numpy()): int(y) for x, y in zip(self.images, self.labels)}
        for x, y in batches:
            self.assertEqual([by_bytes[bytes(image.numpy())] for image in x], y.tolist())
        again = torch.cat([x for x, _ in stream])
        self.assertTrue(torch.equal(again, found))

    def test_foreign_images_have_no_label(self):
        stream = sotta.Stream(self.images, labels=self.labels, classes=5, scenario="noise")
        labels = torch.cat([y for _, y in stream])
        self.assertEqual((stream.samples, int((labels < 0).sum())), (100, 50))
        other = torch.zeros(10, 3, 32, 32, dtype=torch.uint8)
        stream = sotta.Stream(self.images, labels=self.labels, classes=5, scenario="far",
                              foreign=other, foreign_count=10)
        for x, y in stream:
            self.assertTrue(((x.flatten(1).sum(1) == 0) == (y < 0)).all())

    def test_corruptions_are_those_of_corrupt(self):
        stream = sotta.Stream(self.images, labels=self.labels, classes=5, corruptions="fog,clean")
        self.assertEqual(stream.domains, ["fog-5", "clean"])
        wanted = {bytes(x.numpy()) for x in sotta.corrupt(self.images, "fog")}
        seen = {bytes(image.numpy()) for x, _ in stream for image in x}
        self.assertLess(wanted, seen)

    def test_bad_arguments_are_refused(self):
        for arguments in ({"seeed": 1}, {"scenario": "nosie"}, {"window": 0},
                          {"corruptions": "fgo"}, {"classes": 2}, {"labels": None},
                          {"foreign": "cifar10"}):
            with self.assertRaises(sotta.Error, msg=arguments):
                list(sotta.Stream(self.images, **{"labels": self.labels, "classes": 5, **arguments}))
        with self.assertRaises(sotta.Error) as caught:
            sotta.Stream("cifar10", data="/no/such/folder")
        self.assertEqual(caught.exception.kind, "not_found")


class Methods(unittest.TestCase):
    def test_a_method_of_ones_own_adapts(self):
        model = wrapped(Follow, window=16, rate=0.5)
        before = model.predict(images(8))
        model(images(40))
        self.assertEqual((model.updates, model.method), (2, "follow"))
        self.assertEqual(model.last.verdicts, ["admitted"] * 32 + ["pending"] * 8)
        self.assertFalse(torch.equal(model.predict(images(8)), before))
        self.assertIn("follow", sotta.methods())
        self.assertEqual(sotta.method_options(Follow), {"rate": 0.1})

    def test_it_is_what_the_library_computes(self):
        mine = wrapped(PlainTent, window=32, rate=0.01)
        theirs = wrapped("tent", window=32, optimiser="sgd", momentum=0.0, learning_rate=0.01)
        for seed in range(3):
            batch = images(32, seed=seed)
            torch.testing.assert_close(mine(batch), theirs(batch), atol=1e-5, rtol=1e-5)
        self.assertAlmostEqual(float(mine.last.updates[0].loss),
                               float(theirs.last.updates[0].loss), places=4)

    def test_its_state_is_part_of_snapshots(self):
        model = wrapped(Follow, window=16)
        model(images(40))
        snapshot = model.snapshot()
        self.assertEqual(int(snapshot.tensors["own.windows"]), 2)
        other = wrapped(Follow, window=16)
        other.restore(snapshot)
        for seed in range(2):
            self.assertTrue(torch.equal(other(images(24, seed=seed)), model(images(24, seed=seed))))
        self.assertEqual(other.snapshot().to_bytes(), model.snapshot().to_bytes())

    def test_a_saved_model_finds_its_class_by_name(self):
        model = wrapped(Follow, window=16)
        model(images(40))
        code = ("import sys, pickle; sys.path.insert(0, sys.argv[1])\n"
                "import sotta, bench_test\n"
                "try:\n    sotta.load(sys.argv[2])\n"
                "except sotta.Error as error:\n    print(error.kind)\n"
                "sotta.register(bench_test.Follow)\n"
                "print(sotta.load(sys.argv[2]).snapshot().to_bytes().hex())")
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "m")
            model.save(file)
            said = subprocess.run([sys.executable, "-c", code, os.path.dirname(__file__), file],
                                  capture_output=True, text=True)
        self.assertEqual(said.stdout.split(), ["invalid", model.snapshot().to_bytes().hex()],
                         said.stderr)

    def test_its_mistakes_are_its_own_exceptions(self):
        class Wrong(Follow):
            def update(self, window):
                return window.no_such_thing
        with self.assertRaisesRegex(AttributeError, "no_such_thing"):
            wrapped(Wrong, window=8)(images(8))

        class Shape(Follow):
            def observe(self, batch):
                return torch.zeros(3)
        with self.assertRaisesRegex(sotta.Error, "expected a float row for each image"):
            wrapped(Shape, window=8)(images(8))

        class Verdicts(Follow):
            def observe(self, batch):
                return self.predict(batch), ["admited"] * len(batch)
        with self.assertRaisesRegex(sotta.Error, 'did you mean "admitted"'):
            wrapped(Verdicts, window=8)(images(8))
        with self.assertRaisesRegex(sotta.Error, 'did you mean "rate"'):
            wrapped(Follow, rat=1.0)
        with self.assertRaisesRegex(sotta.Error, "derived from sotta.Method"):
            wrapped(dict)

    def test_a_class_defined_anew_replaces_the_first(self):
        def make(value):
            class Again(sotta.Method):
                def predict(self, batch):
                    return super().predict(batch) * 0 + value
            return Again
        self.assertEqual(float(wrapped(make(1.0)).predict(images(2)).mean()), 1)
        self.assertEqual(float(wrapped(make(2.0)).predict(images(2)).mean()), 2)


class Bench(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.data = os.path.join(self.folder.name, "tiny")
        subprocess.run([sys.executable, ROOT / "tests/support/make_tiny_data.py", self.data, "48"],
                       check=True)

    def tearDown(self):
        self.folder.cleanup()

    def bench(self, methods, out="runs", **arguments):
        return sotta.bench("fashion-mnist", WEIGHTS, methods, data=self.data,
                           out=os.path.join(self.folder.name, out),
                           **{"scenarios": "noise", "corruptions": "none", "window": 16,
                              **arguments})

    def test_methods_of_ones_own_run_beside_the_ten_and_are_reported(self):
        calls = []
        result = self.bench(["source", "tent", "sotta", Follow, PlainTent],
                            scenarios=["benign", "noise"], seeds=[0, 1], lanes=2, threads=2,
                            progress=lambda *now: calls.append(now))
        self.assertEqual(result.failures, [])
        self.assertEqual(len(result.records), 20)
        self.assertTrue(calls)
        self.assertIn("plaintent", result.averages)
        again = self.bench(["tent", Follow], scenarios=["benign", "noise"], seeds=[0, 1])
        self.assertEqual((again.cells, again.earlier), (8, 8))
        files = sotta.report(os.path.join(self.folder.name, "runs"), formats=["md", "html"])
        text = pathlib.Path(files[0]).read_text()
        self.assertIn("Plain TENT", text)
        self.assertIn("SoTTA", text)

    def test_records_are_those_of_the_command(self):
        self.bench(["tent", "sotta"], out="mine")
        subprocess.run([os.environ["SOTTA_BIN"], "bench", "--dataset", "fashion-mnist", "--data",
                        self.data, "--model", WEIGHTS, "--method", "tent,sotta", "--scenario",
                        "noise", "--corruption", "none", "--window", "16", "--out",
                        os.path.join(self.folder.name, "theirs")], check=True, capture_output=True)

        def results(name):
            runs = sotta.records(os.path.join(self.folder.name, name))
            for run in runs:
                for key in ("seconds", "adapt_seconds", "images_per_second", "peak_memory_bytes",
                            "threads"):
                    del run[key]
            return sorted(runs, key=lambda run: run["method"])
        self.assertEqual(results("mine"), results("theirs"))

    def test_what_fails_is_told_and_stops_nothing(self):
        class Fails(sotta.Method):
            def update(self, window):
                raise RuntimeError("on purpose")
        with self.assertWarnsRegex(RuntimeWarning, "on purpose"):
            result = self.bench(["tent", Fails])
        self.assertEqual(len(result.failures), 1)
        self.assertEqual(len(result.records), 1)

    def test_bad_arguments_are_refused(self):
        for arguments in ({"methods": "tnet"}, {"windw": 1}, {"scenarios": "nosie"},
                          {"threads": 0}, {"jobs": 0}, {"lanes": -1}, {"changes": {"no": 1}}, {"engine": "x"}):
            with self.assertRaises(sotta.Error, msg=arguments):
                self.bench(**{"methods": "tent", **arguments})
        with self.assertRaises(sotta.Error) as caught:
            sotta.report(os.path.join(self.folder.name, "nothing"))
        self.assertEqual(caught.exception.kind, "not_found")

    def test_an_interrupt_ends_it(self):
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            for seed in range(1000):
                self.bench(["cotta"], seeds=range(100 * seed, 100 * seed + 100))
        timer.join()


class Command(unittest.TestCase):
    def test_a_model_gives_the_bits_of_the_command(self):
        count = int(os.environ.get("SOTTA_IMAGES", "300"))
        batch = images(count, seed=9)
        with tempfile.TemporaryDirectory() as folder:
            np.save(os.path.join(folder, "x.npy"), batch.permute(0, 2, 3, 1).contiguous().numpy())
            for method in ("tent", "sotta", "rotta"):
                state, out = os.path.join(folder, "state"), os.path.join(folder, "out.jsonl")
                subprocess.run([os.environ["SOTTA_BIN"], "adapt", "--model", WEIGHTS, "--input",
                                os.path.join(folder, "x.npy"), "--method", method, "--guard",
                                "rollback", "--state-out", state, "--out", out],
                               check=True, capture_output=True)
                model = sotta.load(WEIGHTS, method=method, guard="rollback")
                labels, verdicts, confidences = [], [], []
                for part in batch.split(64):
                    model(part)
                    labels += model.last.labels.tolist()
                    confidences += model.last.confidences.tolist()
                    verdicts += model.last.verdicts
                lines = [json.loads(line) for line in open(out)]
                self.assertEqual([line["label"] for line in lines], labels)
                self.assertEqual([line["verdict"] for line in lines], verdicts)
                for line, confidence in zip(lines, confidences):
                    self.assertAlmostEqual(line["confidence"], confidence, places=5)
                self.assertEqual(pathlib.Path(state).read_bytes(), model.snapshot().to_bytes())


if __name__ == "__main__":
    unittest.main()
