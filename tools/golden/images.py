"""A five-class toy problem of 16x16 colour images, and the stream made of it:
stripes whose direction and tint say the class, later seen through noise and
low contrast, and mixed with foreign samples (pure noise)."""
import numpy as np
import torch

CLASSES = 5
SIDE = 16
WINDOW = 16
WINDOWS = 10

_TINTS = np.array([[.9, .5, .4], [.4, .9, .5], [.5, .4, .9],
                   [.8, .8, .4], [.4, .8, .8]])


def _stripes(labels, random):
    count = len(labels)
    rows, columns = np.mgrid[0:SIDE, 0:SIDE]
    angle = labels * np.pi / CLASSES + random.normal(0, .2, count)
    wavelength = random.uniform(4, 7, count)
    phase = random.uniform(0, 2 * np.pi, count)
    along = (np.cos(angle)[:, None, None] * columns
             + np.sin(angle)[:, None, None] * rows)
    wave = .5 + .5 * np.sin(2 * np.pi * along / wavelength[:, None, None]
                            + phase[:, None, None])
    # Most of the tint is random: colour alone does not give the class away.
    tint = .3 * _TINTS[labels] + .7 * random.uniform(.3, 1, (count, 3))
    images = wave[:, None] * tint[:, :, None, None]
    return images + random.normal(0, .15, images.shape)


def _to_bytes(images):
    return torch.from_numpy(
        np.clip(np.rint(images * 255), 0, 255).astype(np.uint8))


def clean_images(count, seed):
    random = np.random.RandomState(seed)
    labels = random.randint(0, CLASSES, count)
    return _to_bytes(_stripes(labels, random)), torch.from_numpy(labels)


def noise_images(count, seed):
    random = np.random.RandomState(seed)
    return _to_bytes(random.uniform(0, 1, (count, 3, SIDE, SIDE)))


def make_stream(seed):
    """160 images and their labels; -1 is a foreign sample."""
    random = np.random.RandomState(seed)
    count = WINDOW * WINDOWS
    # Classes are uneven, so that balanced memories have something to balance.
    labels = random.choice(CLASSES, count, p=[.36, .26, .18, .12, .08])
    images = _stripes(labels, random)
    images = .45 + .65 * (images - .45)
    images += random.normal(0, .1, images.shape)
    foreign = random.uniform(size=count) < 1 / 3
    images[foreign] = random.uniform(0, 1, (foreign.sum(), 3, SIDE, SIDE))
    labels[foreign] = -1
    return _to_bytes(images), torch.from_numpy(labels)
