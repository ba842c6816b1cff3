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


if __name__ == "__main__":
    unittest.main()
