"""wrap: which modules become models, how, and which do not."""
import copy
import os
import tempfile
import unittest

import numpy as np
import torch
from torch import nn

import sotta
from networks import MEAN, STD, Small, fashion, images, small, trained


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
