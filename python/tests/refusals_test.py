"""What people get wrong is one sentence each, an Error, and nothing is lost."""
import json
import pathlib
import struct
import tempfile
import threading
import unittest
import warnings

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import sotta
from networks import MEAN, STD, WEIGHTS, Small, fashion, images, small, trained


class Refusals(unittest.TestCase):
    def refused(self, sentence, action, kind="invalid"):
        with self.assertRaisesRegex(sotta.Error, sentence) as caught:
            action()
        self.assertEqual(caught.exception.kind, kind)
        self.assertNotIn("\n", str(caught.exception))


class Arguments(Refusals):
    def test_what_is_no_module_is_named(self):
        for net, found in (("resnet18", "str"), (None, "NoneType"), (Small, "the class Small"),
                           (Small().state_dict(), "OrderedDict")):
            self.refused(f"net: expected a torch.nn.Module, got {found}",
                         lambda: sotta.wrap(net, example=images(2, 3, 32), mean=0, std=1))
        self.refused("got dict", lambda: small().copy_norm_to({}))

    def test_modules_compute_in_float32(self):
        for net in (Small().half(), Small().double(), Small().bfloat16()):
            self.refused("expected parameters of float32, \"features.0.weight\" is torch",
                         lambda: small(net=net), "unsupported")

    def test_mean_and_std_are_as_many_as_the_example_has_channels(self):
        batch = images(2, 3, 32)
        for mean, std in (([0] * 2, [1] * 2), ([0] * 4, [1] * 4), ([0] * 3, [1] * 2), ([], [])):
            self.refused("one for each of the example's 3 channels",
                         lambda: sotta.wrap(Small(), example=batch, mean=mean, std=std))
        self.refused("the example's 1 channels", lambda: sotta.wrap(
            Small(), example=images(2, 1, 32), mean=[0] * 3, std=[1] * 3))
        self.assertEqual(sotta.wrap(Small(), example=batch, mean=0.5, std=0.25).std, [0.25] * 3)

    def test_means_for_bytes_are_pointed_out(self):
        with self.assertWarnsRegex(UserWarning, "divide mean and std by 255"):
            small(mean=[123.7, 116.3, 103.5], std=[58.4, 57.1, 57.4])
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            fashion()

    def test_examples_are_images(self):
        for example in (images(2, 3, 32)[:0], images(2, 3, 32).long(),
                        torch.full((2, 3, 32, 32), float("nan"))):
            self.refused("example: expected", lambda: small(example=example))

    def test_what_a_module_says_of_the_example_is_part_of_the_sentence(self):
        class Fixed(Small):
            def forward(self, x):
                return super().forward(x).reshape(2, 5)

        class Maps(Small):
            def forward(self, x):
                return self.features(x)

        class Random(Small):
            def forward(self, x):
                return F.dropout(super().forward(x), 0.5)
        self.refused("cannot be run on images", lambda: small(example=images(2, 4, 32), mean=[0] * 4,
                                                              std=[1] * 4), "unsupported")
        self.refused("cannot be run on images .4, 3", lambda: small(net=Fixed()), "unsupported")
        self.refused("expected logits .2, classes., got .2, 16", lambda: small(net=Maps()),
                     "unsupported")
        self.refused("answers otherwise", lambda: small(net=Random()), "unsupported")

    def test_numbers_and_names_of_another_type_are_refused(self):
        for arguments, sentence in (
                ({"window": 16.0}, "window: expected a whole number, got 16.0"),
                ({"window": "16"}, "window: expected a whole number"),
                ({"window": 2 ** 70}, "window: expected a number that fits 64 bits"),
                ({"seed": 1.5}, "seed: expected a whole number"),
                ({"preset": None}, "preset: expected text"),
                ({"precision": None}, "precision: expected text"),
                ({"learning_rate": np.array([0.1, 0.2])}, "expected a bool, a number or text"),
                ({"learning_rate": 2 ** 70}, "fits 64 bits")):
            self.refused(sentence, lambda: small(**arguments))
        self.refused("expected a whole number, got 8.0",
                     lambda: small(method="sotta", memory_capacity=8.0))
        self.assertEqual(sotta.load(WEIGHTS, device=torch.device("cpu")).device.type, "cpu")

    def test_numbers_of_other_libraries_keep_their_value(self):
        batch = images(64)
        wanted = fashion(method="sotta", window=16, min_confidence=0.5, sharpness=False)
        wanted(batch)
        for half in (torch.tensor(0.5), np.array(0.5), np.float32(0.5)):
            model = fashion(method="sotta", window=np.int64(16), seed=np.int64(0),
                            min_confidence=half, sharpness=np.bool_(False))
            model(batch)
            self.assertEqual(model.snapshot().to_bytes(), wanted.snapshot().to_bytes())
            with tempfile.TemporaryDirectory() as folder:
                model.save(f"{folder}/m")
                self.assertEqual(repr(sotta.load(f"{folder}/m")), repr(wanted))

    def test_images_of_odd_tensors(self):
        model = fashion(method="tent", window=8)
        model(images(12))
        before, batch = model.snapshot().to_bytes(), images(8) / 255
        for bad in (batch.to_sparse(), batch.to_mkldnn(), batch.to("meta")):
            self.refused("images: expected", lambda: model(bad))
        self.assertEqual(model.snapshot().to_bytes(), before)
        self.assertEqual(model(batch.refine_names("N", "C", "H", "W")).names, (None, None))


class Files(Refusals):
    def test_a_saved_model_takes_no_other_arguments_whatever_they_are(self):
        with tempfile.TemporaryDirectory() as folder:
            fashion().save(f"{folder}/m")
            for arguments in ({"mean": np.zeros(1)}, {"source_images": images(2).numpy()},
                              {"method": sotta.Method}):
                self.refused("expected no others", lambda: sotta.load(f"{folder}/m", **arguments))

    def test_damaged_models_are_one_sentence(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "m"
            model = fashion(method="sotta", window=16)
            model(images(40))
            model.save(file)
            data = file.read_bytes()
            size = struct.unpack("<Q", data[:8])[0]
            header = json.loads(data[8:8 + size])
            content = json.loads(header["__metadata__"]["sotta.model"])

            def load(**changes):
                header["__metadata__"]["sotta.model"] = json.dumps({**content, **changes})
                text = json.dumps(header).encode()
                file.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + size:])
                sotta.load(file)
            load()
            source, setting = content["source"], content["setting"]
            for changes in ({"source": 1}, {"source": {**source, "form": "pickle"}},
                            {"source": {**source, "mean": "a"}}, {"source": {**source, "more": 1}},
                            {"setting": {**setting, "window": "x"}}, {"verdicts": 3},
                            {"setting": {**setting, "options": [1]}}, {"labels": {"a": 1}}):
                with self.assertRaises(sotta.Error, msg=changes):
                    load(**changes)
            file.write_bytes(data.replace(b'"snapshot":', b'"snapshor":'))
            self.refused("m: expected what Model.save writes", lambda: sotta.load(file),
                         "bad_format")

    def test_snapshots_hold_numbers_of_their_own(self):
        model = fashion(method="sotta", window=16)
        model(images(40))
        snapshot = model.snapshot()
        before = snapshot.to_bytes()
        snapshot.tensors["affine"].add_(1)
        tensors = snapshot.tensors
        other = sotta.Snapshot("sotta", tensors)
        tensors["affine"].add_(1)
        self.assertEqual(snapshot.to_bytes(), before)
        self.assertEqual(other.to_bytes(), before)
        for bad in (tensors["affine"].to("meta"), tensors["affine"].to_sparse()):
            self.refused("affine: expected a dense tensor",
                         lambda: sotta.Snapshot("sotta", {**tensors, "affine": bad}))
        for bad in (None, "file", before):
            self.refused("expected a sotta.Snapshot", lambda: model.restore(bad))
        with tempfile.TemporaryDirectory() as folder:
            snapshot.save(pathlib.Path(folder) / "s")
            self.assertEqual(sotta.Snapshot.load(pathlib.Path(folder) / "s").to_bytes(), before)


class Methods(Refusals):
    def run_with(self, **members):
        method = type("Tried", (sotta.Method,), members)
        model = sotta.wrap(trained(), example=images(2), mean=MEAN, std=STD, method=method,
                           window=16, guard="rollback")
        model(images(40))
        model.snapshot()
        return model

    def test_a_loss_is_one_number(self):
        for loss in (torch.zeros(0), torch.zeros(3)):
            self.refused("expected a loss of one number",
                         lambda: self.run_with(update=lambda self, window: loss))
        found = self.run_with(update=lambda self, window: torch.ones(1, 1)).last.updates[0]
        self.assertEqual(found.loss.shape, ())

    def test_shares_of_the_batch_are_numbers_from_0_to_1(self):
        def update(stats):
            return lambda self, window: self.forward(window, stats).logits.sum()
        wanted = self.run_with(update=update("batch")).last.updates[0].loss
        for stats in (1, np.float32(1), torch.tensor(1.0)):
            found = self.run_with(update=update(stats)).last.updates[0].loss
            torch.testing.assert_close(found, wanted, atol=1e-3, rtol=1e-4)
        for stats in (1.5, -0.5, float("nan"), None, True, "bach"):
            self.refused("stats", lambda: self.run_with(update=update(stats)))

    def test_a_state_of_another_form_is_refused(self):
        def change(what):
            def update(self, window):
                self.state.affine = what(self.state.affine)
            return update
        for what in (lambda t: t[:3], lambda t: t.double(), lambda t: t.to("meta")):
            self.refused("state: expected affine as Float .672. on cpu",
                         lambda: self.run_with(update=change(what)))
        self.refused("expected a sotta.ModelState",
                     lambda: self.run_with(setup=lambda self: setattr(self, "state", None)))

    def test_logits_are_a_row_of_classes_each(self):
        for answer in (lambda x: x[:, :3], lambda x: torch.cat([x, x], 1), lambda x: x.to("meta"),
                       lambda x: x.to_sparse(), lambda x: x.double()):
            self.refused("of 10 classes", lambda: self.run_with(
                predict=lambda self, batch: answer(sotta.Method.predict(self, batch))))

    def test_answers_that_are_no_numbers_are_said_to_be_none(self):
        model = self.run_with(
            predict=lambda self, batch: sotta.Method.predict(self, batch) * float("nan"))
        self.assertEqual(set(model.last.verdicts), {"not finite"})

    def test_own_tensors_have_names_and_memory(self):
        for tensors in (None, [1], {"a": 1}, {1: torch.zeros(2)}, {"a": torch.zeros(1).expand(5)},
                        {"a": torch.zeros(2).to("meta")}, {"a": torch.zeros(3).to_sparse()}):
            self.refused("state_dict", lambda: self.run_with(state_dict=lambda self: tensors))
        columns = torch.zeros(3, 4)
        self.run_with(state_dict=lambda self: {"a": columns[:, 1]}).reset()
        self.refused("expected options as a dict", lambda: self.run_with(options=[("a", 1)]))


class Data(Refusals):
    def setUp(self):
        self.images, self.labels = images(50, 3, 32), torch.arange(50) % 5

    def stream(self, **arguments):
        return sotta.Stream(self.images, **{"labels": self.labels, "classes": 5, **arguments})

    def test_one_stream_in_several_threads_gives_each_its_windows(self):
        stream = self.stream(window=8, corruptions=["fog", "clean"])
        wanted, problems = torch.cat([x for x, _ in stream]), []

        def work():
            for _ in range(3):
                found = torch.cat([x for x, _ in stream])
                if not torch.equal(found, wanted):
                    problems.append(len(found))
        threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertFalse(any(thread.is_alive() for thread in threads))
        self.assertEqual(problems, [])

    def test_labels_are_whole_numbers_of_any_width(self):
        wanted = torch.cat([y for _, y in self.stream()])
        for labels in (self.labels.tolist(), self.labels.int(), self.labels.numpy().astype("uint8")):
            self.assertTrue(torch.equal(torch.cat([y for _, y in self.stream(labels=labels)]), wanted))
        for labels in (self.labels.float(), "abc", self.labels.bool()):
            self.refused("labels: expected whole numbers", lambda: self.stream(labels=labels))
        self.refused("classes: expected a whole number", lambda: self.stream(classes="5"))

    def test_sheets_have_images_and_columns(self):
        self.refused("expected at least one", lambda: sotta.sheet(self.images[:0]))
        for columns in (0, -1):
            self.refused("columns: expected at least 1", lambda: sotta.sheet(self.images, columns))

    def test_arguments_of_a_benchmark_are_named(self):
        def bench(**arguments):
            with tempfile.TemporaryDirectory() as folder:
                sotta.bench("fashion-mnist", WEIGHTS, "tent", **{"out": folder, **arguments})
        for arguments, sentence in (
                ({"threads": "2"}, "threads: expected a whole number, got str"),
                ({"jobs": 1.5}, "jobs: expected a whole number, got float"),
                ({"lanes": 10 ** 9}, "lanes: expected 0 to 256"),
                ({"seeds": ["a"]}, "seeds: expected whole numbers"),
                ({"scenarios": [1]}, "scenarios: expected text"),
                ({"changes": ["a"]}, "changes: expected options by name"),
                ({"progress": "yes"}, "progress: expected True, False or a function")):
            self.refused(sentence, lambda: bench(**arguments))


class Graphs(unittest.TestCase):
    def test_layer_norms_called_on_one_modules_parameters_stay_apart(self):
        class Body(nn.Module):
            def __init__(self):
                super().__init__()
                torch.manual_seed(0)
                self.conv = nn.Conv2d(3, 8, 3, 2)
                for name in ("g1", "b1", "g2", "b2", "gain"):
                    self.register_parameter(name, nn.Parameter(torch.randn(8)))

            def forward(self, x):
                x = F.layer_norm(self.conv(x).mean((2, 3)), (8,), self.g1, self.b1)
                return F.layer_norm(torch.relu(x), (8,), self.g2, self.b2) * self.gain
        net = nn.Sequential(Body(), nn.Linear(8, 5))
        model, batch = small(net=net, window=8), images(8, 3, 32)
        with torch.no_grad():
            torch.testing.assert_close(model.predict(batch), net(batch / 255))
        self.assertEqual([name for name, _, _ in model.norm_layers], ["0.g1", "0.g2"])
        model(batch)
        self.assertEqual(model.updates, 1)

    def test_heads_whose_weights_are_reckoned_have_their_classes(self):
        class Cosine(Small):
            def forward(self, x):
                return F.linear(self.features(x).mean((2, 3)), F.normalize(self.head.weight))
        for net in (Cosine(), nn.Sequential(Small(), nn.utils.weight_norm(nn.Linear(5, 7)))):
            model = small(net=net, window=8)
            self.assertEqual(model(images(16, 3, 32)).shape[1], model.classes)


if __name__ == "__main__":
    unittest.main()
