// The images in a stream's memory, out of its state: a safetensors file with
// "memory.images" [slots, C, H, W], bytes or floats in 0 to 1, and
// "memory.items", six int64 for each image: slot, sample, label and three more.

export function readMemory(buffer) {
  const length = Number(new DataView(buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  const part = (name) => {
    const [begin, end] = header[name].data_offsets;
    return buffer.slice(8 + length + begin, 8 + length + end);
  };
  const named = (end) => Object.keys(header).find((name) => name === end || name.endsWith(`.${end}`) || name.endsWith(`/${end}`));
  const images = named("memory.images");
  const items = named("memory.items");
  if (!images || !items) return [];
  const [, channels, height, width] = header[images].shape;
  const isFloat = header[images].dtype === "F32";
  const pixels = isFloat ? new Float32Array(part(images)) : new Uint8Array(part(images));
  const words = new BigInt64Array(part(items));
  const size = channels * height * width;
  return Array.from({ length: words.length / 6 }, (_, i) => {
    const slot = Number(words[6 * i]);
    return {
      sample: Number(words[6 * i + 1]), label: Number(words[6 * i + 2]), channels, height, width,
      scale: isFloat ? 255 : 1, pixels: pixels.subarray(slot * size, (slot + 1) * size),
    };
  });
}

export function drawImage({ pixels, channels, height, width, scale }, canvas) {
  canvas.width = width;
  canvas.height = height;
  const data = new ImageData(width, height);
  const plane = width * height;
  for (let i = 0; i < plane; ++i) {
    for (let c = 0; c < 3; ++c) data.data[4 * i + c] = pixels[Math.min(c, channels - 1) * plane + i] * scale;
    data.data[4 * i + 3] = 255;
  }
  canvas.getContext("2d").putImageData(data, 0, 0);
}
