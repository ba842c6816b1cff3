#include "train/checkpoint.h"

#include <string>

#include "sotta/core/error.h"
#include "sotta/data/safetensors.h"

#include "data/tensor.h"

namespace sotta {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFormatKey = "sotta_checkpoint";
constexpr const char* kFormat = "1";
const std::string kOptionPrefix = "option.";

// The one list of tensors and the names they have in the file, but for the
// optimiser's, which are those of its own with one of the two endings.
template <class State, class Visitor>
void visit_tensors(State& state, const Visitor& visit) {
  visit("body", state.model.body);
  visit("affine", state.model.affine);
  visit("running_mean", state.model.running_mean);
  visit("running_var", state.model.running_var);
  visit("losses", state.losses);
  visit("correct", state.correct);
}

const std::string kOfBody = ".body", kOfAffine = ".affine";

bool ends_with(const std::string& text, const std::string& ending) {
  return text.size() > ending.size() &&
         text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
}

std::map<std::string, at::Tensor> optimiser_tensors(const TensorFile& content,
                                                    const std::string& ending) {
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [name, array] : content.tensors)
    if (ends_with(name, ending))
      tensors[name.substr(0, name.size() - ending.size())] =
          to_tensor(array).clone();
  return tensors;
}

std::string metadata_of(const TensorFile& content, const std::string& name,
                        const std::string& subject) {
  const auto found = content.metadata.find(name);
  if (found == content.metadata.end())
    fail(ErrorKind::kBadFormat, subject,
         "expected a checkpoint of a training, metadata \"" + name +
             "\" is missing");
  return found->second;
}

template <class Number>
Number number_of(const TensorFile& content, const std::string& name,
                 const std::string& subject) {
  try {
    return std::get<Number>(parse_option(
        name, metadata_of(content, name, subject), OptionValue(Number{})));
  } catch (const Error& error) {
    throw Error(ErrorKind::kBadFormat, subject + ": " + error.what());
  }
}

// All differences at once, so that one attempt shows everything.
void check_run(const TensorFile& content, const OptionMap& run,
               const std::string& subject) {
  std::string differences;
  for (const auto& [name, value] : run) {
    const auto found = content.metadata.find(kOptionPrefix + name);
    const std::string there =
        found == content.metadata.end() ? "unknown" : found->second;
    if (there == to_text(value)) continue;
    differences += (differences.empty() ? "" : ", ") + name + " is " + there +
                   " there and " + to_text(value) + " here";
  }
  require(differences.empty(), subject,
          "is a checkpoint of another training: " + differences);
}

}  // namespace

void save_checkpoint(const fs::path& file, const Checkpoint& checkpoint) {
  TensorFile content;
  content.metadata[kFormatKey] = kFormat;
  content.metadata["step"] = std::to_string(checkpoint.state.step);
  content.metadata["seconds"] = to_text(checkpoint.seconds);
  for (const auto& [name, value] : checkpoint.run)
    content.metadata[kOptionPrefix + name] = to_text(value);
  visit_tensors(checkpoint.state,
                [&](const char* name, const at::Tensor& tensor) {
                  if (tensor.defined())
                    content.tensors[name] = to_array(tensor);
                });
  for (const auto& [name, tensor] : checkpoint.state.body_optimiser)
    content.tensors[name + kOfBody] = to_array(tensor);
  for (const auto& [name, tensor] : checkpoint.state.affine_optimiser)
    content.tensors[name + kOfAffine] = to_array(tensor);
  write_safetensors(file, content);
}

Checkpoint load_checkpoint(const fs::path& file, const OptionMap& run) {
  const std::string subject = file.string();
  const TensorFile content = read_safetensors(file);
  const std::string format = metadata_of(content, kFormatKey, subject);
  if (format != kFormat)
    fail(ErrorKind::kBadFormat, subject,
         std::string("expected a checkpoint of format ") + kFormat + ", got " +
             format);
  check_run(content, run, subject);

  Checkpoint checkpoint;
  checkpoint.run = run;
  checkpoint.seconds = number_of<double>(content, "seconds", subject);
  checkpoint.state.step = number_of<int64_t>(content, "step", subject);
  visit_tensors(checkpoint.state, [&](const char* name, at::Tensor& tensor) {
    const auto found = content.tensors.find(name);
    // Copied: the file is replaced while the training goes on.
    if (found != content.tensors.end())
      tensor = to_tensor(found->second).clone();
  });
  checkpoint.state.body_optimiser = optimiser_tensors(content, kOfBody);
  checkpoint.state.affine_optimiser = optimiser_tensors(content, kOfAffine);
  return checkpoint;
}

}  // namespace sotta
