#include "eval/check_fit.h"

#include "sotta/core/error.h"

namespace sotta {

void check_fit(const Classifier& model, const Dataset& data,
               const std::string& subject) {
  require(model.classes() == data.classes(), subject,
          "the model tells " + std::to_string(model.classes()) +
              " classes apart, the dataset has " +
              std::to_string(data.classes()));
  require(model.channels() == data.shape().channels, subject,
          "the model takes images of " + std::to_string(model.channels()) +
              " channels, the dataset has " +
              std::to_string(data.shape().channels));
}

}  // namespace sotta
