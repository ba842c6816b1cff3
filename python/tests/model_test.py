"""wrap, call, look, put back, copy."""
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
from torch import nn

import sotta
from networks import MEAN, STD, WEIGHTS, Small, images, trained


def small(**arguments):
    arguments = {"example": images(2, 3, 32), "method": "tent", "mean": 0, "std": 1, **arguments}
    for name in ("mean", "std"):
        if isinstance(arguments[name], int):
            arguments[name] = [arguments[name]] * 3
    return sotta.wrap(arguments.pop("net", None) or Small(), **arguments)


def fashion(**arguments):
    return sotta.wrap(trained(), **{"example": images(2), "mean": MEAN, "std": STD, **arguments})


class Wrapping(unittest.TestCase):
    def test_a_resnet_is_run_by_own_kernels_and_answers_as_the_module(self):
        net, batch = trained().eval(), images(16)
        model = fashion(method="source")
        with torch.no_grad():
            wanted = net((batch / 255 - MEAN[0]) / STD[0])
        torch.testing.assert_close(model(batch), wanted, atol=1e-4, rtol=1e-4)
        if any(engine.startswith("fused") for engine in sotta.engines()):
            self.assertTrue(model.engine.startswith("fused"), model.engine)

    def test_a_network_with_the_names_of_a_resnet_that_computes_something_else_is_traced(self):
        class Other(type(trained())):
            def forward(self, x):
                return super().forward(x * 1.5)
        net = Other()
        net.load_state_dict(trained().state_dict())
        model = sotta.wrap(net, example=images(2), mean=MEAN, std=STD, method="source")
        self.assertEqual(model.engine, "torchscript")
        with torch.no_grad():
            wanted = net.eval()((images(4) / 255 - MEAN[0]) / STD[0])
        torch.testing.assert_close(model(images(4)), wanted, atol=1e-4, rtol=1e-4)

    def test_any_module_is_traced_and_left_as_it_was(self):
        net = Small()
        net.train()
        net.features[1].eval()
        before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
        model = small(net=net)
        for _ in range(3):
            model(images(64, 3, 32))
        self.assertEqual(model.engine, "torchscript")
        self.assertEqual(model.updates, 3)
        self.assertTrue(net.training and not net.features[1].training)
        for name, tensor in net.state_dict().items():
            self.assertTrue(torch.equal(tensor, before[name]), name)

    def test_tent_is_what_torch_computes(self):
        net = Small()
        model = small(net=net, window=16)
        net.train()  # the batch's statistics
        leaves = [p for module in net.modules() if isinstance(module, nn.BatchNorm2d)
                  for p in module.parameters()]
        optimiser = torch.optim.Adam(leaves, lr=1e-3)
        for step in range(4):
            batch = images(16, 3, 32, seed=step)
            wanted = net(batch / 255)
            torch.testing.assert_close(model(batch), wanted.detach(), atol=2e-5, rtol=1e-4)
            loss = -(wanted.softmax(1) * wanted.log_softmax(1)).sum(1).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()

    def test_answers_around_logits_are_opened(self):
        class Wrapped(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Small()

            def forward(self, x):
                return (self.inner(x), x.mean())
        net = Wrapped()
        model = small(net=net)
        model(images(64, 3, 32))
        model.copy_norm_to(net)
        self.assertFalse(torch.equal(net.inner.features[1].weight,
                                     Small().features[1].weight))

    def test_normalisation_comes_from_metadata_or_is_asked_for(self):
        with self.assertRaisesRegex(sotta.Error, "does not say how its inputs are normalised"):
            sotta.wrap(Small(), example=images(2, 3, 32))
        net = Small()
        net.pretrained_cfg = {"mean": (0.1, 0.2, 0.3), "std": (0.5, 0.6, 0.7)}
        model = sotta.wrap(net, example=images(2, 3, 32))
        self.assertEqual(model.mean, [0.1, 0.2, 0.3])
        self.assertEqual(sotta.wrap(net, example=images(2, 3, 32), mean=[0] * 3, std=[1] * 3).std,
                         [1, 1, 1])
        with self.assertRaisesRegex(sotta.Error, "both or neither"):
            sotta.wrap(net, example=images(2, 3, 32), mean=[0] * 3)

    def test_torchvision_weights_say_how_to_normalise(self):
        try:
            from torchvision.models import ResNet18_Weights
        except ImportError:
            self.skipTest("torchvision is not there")
        model = sotta.wrap(Small(), example=images(2, 3, 32), weights=ResNet18_Weights.DEFAULT)
        self.assertEqual(model.mean, [0.485, 0.456, 0.406])
        self.assertEqual(model.std, [0.229, 0.224, 0.225])

    def test_options_are_checked_by_name_and_type(self):
        with self.assertRaisesRegex(sotta.Error, 'did you mean "min_confidence"'):
            small(method="sotta", min_confidnce=0.9)
        with self.assertRaisesRegex(sotta.Error, 'did you mean "guard_history"'):
            small(method="sotta", guard_histroy=3)
        with self.assertRaisesRegex(sotta.Error, "expected a number"):
            small(method="sotta", min_confidence="high")
        with self.assertRaisesRegex(sotta.Error, "expected a bool, a number or text"):
            small(method="sotta", min_confidence=[0.9])
        with self.assertRaisesRegex(sotta.Error, 'did you mean "sotta"'):
            small(method="sota")
        with self.assertRaisesRegex(sotta.Error, "guard"):
            small(guard="rolback")
        model = small(method="sotta", min_confidence=np.float32(0.5), memory_capacity=np.int64(8))
        self.assertEqual(model.options["memory_capacity"], 8)
        self.assertEqual(model.options["guard"], "off")

    def test_a_network_of_torch_export_is_loaded_saved_and_copied(self):
        golden = os.path.join(os.environ["SOTTA_ROOT"], "tests/golden")
        batch = images(16, 3, 16)
        given = dict(mean=[0, 0, 0], std=[1, 1, 1], method="tent", window=16)
        model = sotta.load(f"{golden}/exported/mixed.pt2", **given)
        self.assertEqual(model.engine, "exported")
        wanted = sotta.load(f"{golden}/torchscript/mixed.pt", **given)
        for _ in range(2):
            self.assertTrue(torch.equal(model(batch), wanted(batch)))
        with tempfile.TemporaryDirectory() as folder:
            model.save(f"{folder}/model")
            again = sotta.load(f"{folder}/model")
        copied = copy.deepcopy(model)
        self.assertTrue(torch.equal(again(batch), copied(batch)))

    def test_what_runs_the_network_can_be_chosen(self):
        batch = images(64)
        wanted = fashion(method="tent")(batch)
        other = fashion(method="tent", engine="libtorch")
        self.assertEqual(other.engine, "torchscript")
        torch.testing.assert_close(other(batch), wanted, atol=1e-4, rtol=1e-4)
        if any(engine.startswith("fused") for engine in sotta.engines()):
            thrifty = fashion(method="tent", engine="fused", low_memory=True)
            self.assertTrue(torch.equal(thrifty(batch), wanted))
        for arguments in ({"engine": "fusd"}, {"precision": "fp8"}, {"low_memory": True},
                          {"precision": "bf16"}, {"engine": "fused"}):
            with self.assertRaises(sotta.Error, msg=arguments):
                small(**arguments)

    def test_every_method_runs(self):
        ten = ("source", "bn_stats", "pseudo_label", "tent", "lame", "cotta", "eata", "sar", "rotta", "sotta")
        self.assertLessEqual(set(ten), set(sotta.methods()))  # other tests may have registered more
        for method in ten:
            model = fashion(method=method, window=8, source_images=images(8, seed=5))
            model(images(16))
            self.assertEqual(model.samples, 16, method)

    def test_a_network_without_norm_layers_is_refused_in_one_sentence(self):
        net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                            nn.Linear(4, 2))
        with self.assertRaises(sotta.Error) as caught:
            small(net=net)
        self.assertEqual(caught.exception.kind, "unsupported")
        self.assertNotIn("\n", str(caught.exception))

    def test_a_module_that_cannot_be_traced_is_refused_in_one_sentence(self):
        class Broken(Small):
            def forward(self, x):
                raise ValueError("no such thing")
        with self.assertRaises(Exception) as caught:
            small(net=Broken())
        self.assertIn("no such thing", str(caught.exception))


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
