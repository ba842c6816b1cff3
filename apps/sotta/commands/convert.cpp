#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "core/checks.h"
#include "json_text.h"
#include "models/convert_weights.h"

namespace sotta::cli {
namespace {

struct ConvertFlags {
  std::string input;
  std::string output;
  Normalisation normalisation;
  int64_t size = 0, groups = 0, heads = 0;
  ConvertOptions options;
  bool json = false;
};

// At most `most` of the items. They are names out of a file: control characters
// must not reach the terminal.
std::string join(const std::vector<std::string>& items, size_t most) {
  std::string text;
  for (size_t i = 0; i < items.size() && i < most; ++i)
    text += (text.empty() ? "" : ", ") + items[i];
  for (char& c : text)
    if ((c >= 0 && c < ' ') || c == '\x7f') c = '?';
  if (items.size() > most)
    text += " and " + std::to_string(items.size() - most) + " more";
  return text;
}

void print_text(const ConvertFlags& flags, const ConvertResult& result) {
  constexpr size_t kMostNamed = 8;
  std::cout << flags.output << ": " << result.tensors << " tensors, "
            << result.parameters << " parameters, " << result.bytes << " bytes";
  if (flags.options.half)
    std::cout << " (" << result.halved << " tensors as float16)";
  if (!result.key.empty()) std::cout << ", from \"" << result.key << "\"";
  std::cout << "\n";
  if (!result.skipped.empty())
    std::cout << "not written: " << join(result.skipped, kMostNamed) << "\n";
}

void print_json(const ConvertFlags& flags, const ConvertResult& result) {
  const nlohmann::json object = {{"input", flags.input},
                                 {"output", flags.output},
                                 {"format", result.format},
                                 {"key", result.key},
                                 {"tensors", result.tensors},
                                 {"parameters", result.parameters},
                                 {"float16_tensors", result.halved},
                                 {"bytes", result.bytes},
                                 {"skipped", result.skipped}};
  // Names come from a file and may be anything.
  std::cout << json_text(object, 2) << "\n";
}

// The flag without its dashes is the name in the metadata; 0: not given.
void add_number(ConvertOptions& options, const char* flag, int64_t number,
                int64_t most) {
  require_within(flag, static_cast<double>(number), 0,
                 static_cast<double>(most));
  if (number > 0) options.numbers[std::string(flag).substr(2)] = number;
}

void convert(ConvertFlags flags) {
  if (!flags.normalisation.mean.empty() || !flags.normalisation.std.empty())
    flags.options.normalisation = flags.normalisation;
  add_number(flags.options, "--size", flags.size, 16384);
  add_number(flags.options, "--groups", flags.groups, 4096);
  add_number(flags.options, "--heads", flags.heads, 4096);
  const ConvertResult result =
      convert_weights(flags.input, flags.output, flags.options);
  flags.json ? print_json(flags, result) : print_text(flags, result);
}

}  // namespace

void add_convert(CLI::App& program) {
  auto* command = program.add_subcommand(
      "convert", "PyTorch checkpoint (.pth, .pt) to safetensors");
  auto flags = std::make_shared<ConvertFlags>();
  command->add_option("input", flags->input, "checkpoint or safetensors file")
      ->required();
  command->add_option("output", flags->output, "safetensors file to write")
      ->required();
  auto* mean = command
                   ->add_option("--mean", flags->normalisation.mean,
                                "the model's input normalisation, per channel: "
                                "0.4914,0.4822,0.4465")
                   ->delimiter(',');
  auto* std = command
                  ->add_option("--std", flags->normalisation.std,
                               "likewise, standard deviations")
                  ->delimiter(',');
  mean->needs(std);
  std->needs(mean);
  command->add_option("--size", flags->size,
                      "side of the images that the network takes");
  command->add_option("--groups", flags->groups,
                      "groups of a ResNet's group norm [32]");
  command->add_option("--heads", flags->heads,
                      "attention heads of a ViT [one for each 64 numbers]");
  command->add_flag("--half", flags->options.half,
                    "weights as float16; norm layers stay float32");
  command->add_option("--key", flags->options.input.key,
                      "the checkpoint's entry that holds the tensors");
  command->add_option("--strip", flags->options.input.strip,
                      "remove this from the beginning of names");
  command->add_flag("--drop-batch-counts", flags->options.drop_batch_counts,
                    "leave out num_batches_tracked");
  command->add_flag("--json", flags->json, "print the outcome as JSON");
  command->callback([flags] { convert(*flags); });
}

}  // namespace sotta::cli
