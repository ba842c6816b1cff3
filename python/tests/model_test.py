"""Call, look, put back, copy."""
import copy
import gc
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np
import torch

import sotta
from networks import MEAN, STD, WEIGHTS, Small, fashion, images, small, trained


class Calling(unittest.TestCase):
    def test_inputs_of_other_libraries_give_the_same_bits(self):
        batch = images(64)
        wanted = fashion(method="sotta")(batch)

        class Foreign:
            def __dlpack__(self, stream=None):
                return torch.utils.dlpack.to_dlpack(batch)

            def __dlpack_device__(self):
                return (1, 0)
        array = batch.permute(0, 2, 3, 1).contiguous().numpy()
        fixed = array.copy()
        fixed.setflags(write=False)
        turned = np.ascontiguousarray(array[:, ::-1])[:, ::-1]
        for other in (array, fixed, turned, Foreign()):
            self.assertTrue(torch.equal(fashion(method="sotta")(other), wanted))

    def test_layouts_in_memory_give_the_same_within_rounding(self):
        batch = images(64, 3, 32)
        wanted = small(method="sotta")(batch)
        array = batch.permute(0, 2, 3, 1).contiguous().numpy()
        torch.testing.assert_close(small(method="sotta")(array), wanted)
        torch.testing.assert_close(small(method="sotta")(batch.float() / 255), wanted)

    def test_images_are_not_copied(self):
        from sotta._images import as_images
        array = np.zeros((2, 4, 5, 3), np.uint8)
        tensor = as_images(array)
        array[1, 2, 3, 1] = 7
        self.assertEqual(int(tensor[1, 1, 2, 3]), 7)
        batch = images(2)
        self.assertIs(as_images(batch), batch)

    def test_bad_images_are_refused_and_nothing_changes(self):
        model = fashion(method="tent", window=8)
        model(images(12))
        before = model.snapshot().to_bytes()
        bad = [images(4)[0], images(4, 3), images(4).double(), images(4).float() * 2,
               torch.full((4, 1, 28, 28), float("nan")), images(4, side=20), [[1]], None,
               np.zeros((4, 28, 28, 1), np.float32), np.zeros((28, 28, 1), np.uint8)]
        for batch in bad:
            with self.assertRaises(sotta.Error) as caught:
                model(batch)
            self.assertEqual(caught.exception.kind, "invalid")
        self.assertEqual(model.snapshot().to_bytes(), before)

    def test_what_the_caller_has_switched_on_changes_no_bit(self):
        batches = [images(32, 3, 32, seed=seed) for seed in range(3)]
        wanted = small(window=32)
        plain = [wanted(batch) for batch in batches]

        def same(context, change=lambda batch: batch, net=None):
            model = small(window=32, net=net)
            with context:
                found = [model(change(batch)) for batch in batches]
            for one, other in zip(found, plain):
                self.assertTrue(torch.equal(one, other))
            self.assertEqual(model.snapshot().to_bytes(), wanted.snapshot().to_bytes())
        same(torch.no_grad())
        same(torch.inference_mode(), lambda batch: batch.clone())
        same(torch.autocast("cpu", dtype=torch.bfloat16))
        leaf = torch.zeros(1, requires_grad=True)
        floats = small(window=32)
        found = floats((batches[0] / 255 + leaf))
        self.assertFalse(found.requires_grad)
        net = Small()
        torch.set_default_dtype(torch.float64)
        try:
            same(torch.enable_grad(), net=net)
        finally:
            torch.set_default_dtype(torch.float32)

    def test_verdicts_updates_and_the_memory_are_there(self):
        model = fashion(method="sotta", window=16, min_confidence=0.2)
        with self.assertRaisesRegex(sotta.Error, "call of the model first"):
            model.last
        logits = model(images(40))
        self.assertEqual(len(model.last), 40)
        self.assertEqual(len(model.last.verdicts), 40)
        self.assertLessEqual(set(model.last.verdicts), set(sotta.verdicts()))
        self.assertTrue(torch.equal(model.last.labels, logits.argmax(1)))
        self.assertEqual(len(model.last.updates), 2)
        self.assertEqual((model.samples, model.pending, model.updates), (40, 8, 2))
        self.assertGreater(float(model.last.updates[0].loss), 0)
        self.assertEqual(len(model.memory), len(model.memory_samples))
        first = model.memory_samples[0]
        self.assertTrue(torch.equal(model.memory[0], images(40)[first]))

    def test_a_screen_says_how_foreign_images_look(self):
        model = fashion(method="screened_sotta", window=32)
        noise = torch.randint(0, 256, (32, 1, 28, 28), dtype=torch.uint8,
                              generator=torch.Generator().manual_seed(1))
        for seed in range(4):
            model(torch.cat([images(32, seed=seed), noise]))
        self.assertEqual(model.last.foreign_scores.shape, (64,))
        self.assertGreater(model.last.screen.gap, 5.5)
        self.assertEqual(model.last.screen.closed, bool((model.last.foreign_scores > 0).any()))
        self.assertGreater(model.last.screen.information, 0)
        self.assertGreater(model.last.screen.drift, 0)
        plain = fashion(method="sotta")
        plain(images(4))
        self.assertIsNone(plain.last.foreign_scores)
        self.assertIsNone(plain.last.screen)

    def test_frozen_and_predict_change_nothing(self):
        model = fashion(method="tent", window=8)
        model(images(12))
        before = model.snapshot().to_bytes()
        with model.frozen():
            frozen = model(images(32))
            with model.frozen():
                model(images(8))
            model(images(8))
        self.assertTrue(torch.equal(model.predict(images(32)), frozen))
        self.assertEqual(model.snapshot().to_bytes(), before)
        model(images(8))
        self.assertNotEqual(model.snapshot().to_bytes(), before)

    def test_a_guard_takes_back_what_goes_astray(self):
        model = fashion(method="tent", guard="rollback", window=8, guard_max_parameter_change=1e-9)
        start = model.predict(images(8))
        model(images(8))
        self.assertIn("rollback", model.last.guard)
        self.assertEqual(set(model.last.verdicts), {"guard"})
        self.assertTrue(torch.equal(model.predict(images(8)), start))


class Copies(unittest.TestCase):
    def check_continues(self, model, copied):
        for seed in range(3):
            batch = images(20, 3 if model.classes == 5 else 1, 32 if model.classes == 5 else 28, seed)
            self.assertTrue(torch.equal(model(batch), copied(batch)))
        self.assertEqual(model.snapshot().to_bytes(), copied.snapshot().to_bytes())

    def models(self):
        for model, batch in ((small(method="sotta", window=16, min_confidence=0.1),
                              images(40, 3, 32)),
                             (fashion(method="sotta", window=16, guard="rollback"), images(40)),
                             (fashion(method="eata", window=16, source_images=images(16)),
                              images(40))):
            model(batch)
            yield model

    def test_snapshots_continue_bit_for_bit(self):
        for model in self.models():
            snapshot = pickle.loads(pickle.dumps(model.snapshot()))
            other = copy.deepcopy(model)
            other(images(20, 3, 32) if model.classes == 5 else images(20))
            other.restore(snapshot)
            self.check_continues(model, other)

    def test_deep_copies_and_pickles_continue_bit_for_bit(self):
        for model in self.models():
            self.check_continues(model, pickle.loads(pickle.dumps(model)))
            self.check_continues(model, copy.deepcopy(model))

    def test_saved_models_continue_bit_for_bit_in_another_process(self):
        with tempfile.TemporaryDirectory() as folder:
            for model in self.models():
                file = os.path.join(folder, "m.sotta")
                model.save(file)
                loaded = sotta.load(file)
                self.assertEqual(repr(loaded), repr(model))
                self.assertEqual(loaded._repr_html_(), model._repr_html_())
                self.check_continues(model, loaded)
            with self.assertRaisesRegex(sotta.Error, "expected no others"):
                sotta.load(file, method="tent")

    def test_reset_is_the_source_model(self):
        model = fashion(method="tent", window=8)
        before = model.snapshot().to_bytes()
        model(images(30))
        model.reset()
        self.assertEqual(model.snapshot().to_bytes(), before)

    def test_another_models_snapshot_is_refused_and_nothing_changes(self):
        model, other = fashion(method="tent"), fashion(method="sotta")
        before = model.snapshot().to_bytes()
        with self.assertRaises(sotta.Error) as caught:
            model.restore(other.snapshot())
        self.assertEqual(caught.exception.kind, "bad_format")
        self.assertEqual(model.snapshot().to_bytes(), before)

    def test_norm_layers_go_back_into_the_module(self):
        model, net = fashion(method="rotta", window=16), trained()
        model(images(64))
        model.copy_norm_to(net)
        with torch.no_grad():
            wanted = net.eval()((images(8) / 255 - MEAN[0]) / STD[0])
        torch.testing.assert_close(model.predict(images(8)), wanted, atol=1e-4, rtol=1e-4)
        with self.assertRaisesRegex(sotta.Error, "norm layers of this model"):
            model.copy_norm_to(Small())

    def test_files_of_networks_are_loaded(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "m.pt"
            torch.jit.save(torch.jit.trace(Small().eval(), torch.rand(2, 3, 32, 32)), str(file))
            with self.assertRaisesRegex(sotta.Error, "normalised"):
                sotta.load(file)
            model = sotta.load(file, method="tent", mean=[0] * 3, std=[1] * 3)
            self.assertTrue(torch.equal(model(images(64, 3, 32)), small()(images(64, 3, 32))))
            self.assertEqual(sotta.load(WEIGHTS).mean, [0.286])
            model = fashion(method="tent")
            model(images(64))
            model.export(file)
            again = sotta.load(file, method="tent")
            torch.testing.assert_close(again.predict(images(8)), model.predict(images(8)))
            for content in (b"", b"PK\3\4 no archive", os.urandom(100)):
                file.write_bytes(content)
                with self.assertRaises(sotta.Error):
                    sotta.load(file, mean=[0], std=[1])
        with self.assertRaises(sotta.Error) as caught:
            sotta.load("/no/such/file.pt", mean=[0], std=[1])
        self.assertEqual(caught.exception.kind, "not_found")


class Threads(unittest.TestCase):
    def test_two_threads_on_one_model_are_an_error(self):
        model = fashion(method="sotta", window=64)
        batch, problems, refused = images(256), [], []

        def work():
            for _ in range(8):
                try:
                    model(batch)
                except sotta.Error as error:
                    refused.append(str(error))
                except BaseException as problem:
                    problems.append(problem)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertFalse(problems)
        self.assertTrue(refused)
        self.assertIn("another thread is using it", refused[0])
        self.assertEqual(model.samples, 256 * (32 - len(refused)))

    def test_looking_from_several_threads_is_allowed(self):
        model = fashion(method="sotta")
        model(images(70))
        wanted, results = model.predict(images(64)), []

        def look():
            for _ in range(5):
                results.append(torch.equal(model.predict(images(64)), wanted))
                model.snapshot()
        threads = [threading.Thread(target=look) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [True] * 20)

    def test_the_interpreter_goes_on_during_a_pass(self):
        model = fashion(method="sotta", window=2048)
        ticks, done = [0], threading.Event()

        def tick():
            while not done.is_set():
                ticks[0] += 1
                done.wait(0.001)
        thread = threading.Thread(target=tick)
        thread.start()
        model(images(4096))
        done.set()
        thread.join()
        self.assertGreater(ticks[0], 5)


class Memory(unittest.TestCase):
    def test_steps_do_not_grow_the_process(self):
        steps = int(os.environ.get("SOTTA_STEPS", "300"))
        model, batch = fashion(method="sotta", window=16, guard="rollback"), images(16)
        page = os.sysconf("SC_PAGE_SIZE")

        def resident():
            gc.collect()
            return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * page
        for _ in range(100):
            model(batch)
        before = resident()
        for _ in range(steps):
            model(batch)
        growth = resident() - before
        print(f"{steps} steps: {growth / 1e6:.2f} MB more", file=sys.stderr)
        self.assertLess(growth, 8e6)


class Import(unittest.TestCase):
    def test_another_torch_is_told(self):
        code = ("import torch; torch.__version__ = '9.9.0'\n"
                "try:\n    import sotta\nexcept ImportError as error:\n    print(error)")
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
        self.assertIn("and this is torch 9.9.0", said)

    def test_pictures_are_part_of_the_page(self):
        model = fashion(method="sotta", window=16, min_confidence=0.1)
        self.assertIn("sotta", model._repr_html_())
        model(images(48))
        page = model._repr_html_()
        self.assertIn("data:image/png;base64", page)
        self.assertIn("predicted classes", page)
        self.assertIn("admitted", page)
        self.assertIn("48", repr(model))


if __name__ == "__main__":
    unittest.main()
