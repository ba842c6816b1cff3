#include "corrupt/filters/hsv.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>

#include "corrupt/filters/eight_bit.h"

namespace sotta {

Hsv hsv_from_rgb(const at::Tensor& rgb) {
  const at::Tensor red = rgb.select(1, 0);
  const at::Tensor green = rgb.select(1, 1);
  const at::Tensor blue = rgb.select(1, 2);
  const at::Tensor value = at::amax(rgb, 1);
  const at::Tensor spread = value - at::amin(rgb, 1);
  const at::Tensor grey = spread == 0;

  // On a tie the later channel decides.
  at::Tensor hue = (green - blue) / spread;
  hue = at::where(green == value, (blue - red) / spread + 2, hue);
  hue = at::where(blue == value, (red - green) / spread + 4, hue);
  hue = divide(hue, 6).remainder(1).masked_fill(grey, 0);
  return {hue, (spread / value).masked_fill(grey, 0), value};
}

at::Tensor rgb_from_hsv(const Hsv& hsv) {
  const at::Tensor six_hues = hsv.hue * 6;
  const at::Tensor sector = six_hues.floor();
  const at::Tensor part = six_hues - sector;
  const at::Tensor& v = hsv.value;
  const at::Tensor p = v * (1 - hsv.saturation);
  const at::Tensor q = v * (1 - part * hsv.saturation);
  const at::Tensor t = v * (1 - (1 - part) * hsv.saturation);

  // What each channel is in the sectors 0 .. 5.
  const at::Tensor choices[3][6] = {
      {v, q, p, p, t, v}, {t, v, v, q, p, p}, {p, p, t, v, v, q}};
  const at::Tensor which = sector.remainder(6);
  std::vector<at::Tensor> channels;
  for (const auto& choice : choices) {
    at::Tensor channel = choice[0];
    for (int i = 1; i < 6; ++i)
      channel = at::where(which == i, choice[i], channel);
    channels.push_back(channel);
  }
  return at::stack(channels, 1);
}

}  // namespace sotta
