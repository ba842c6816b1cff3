#include "serve/http/error_response.h"

#include <filesystem>

#include <c10/util/Exception.h>

#include "sotta/core/error.h"

#include "gpu/out_of_memory.h"
#include "serve/access/route.h"
#include "serve/fleet/forwarder.h"
#include "serve/protocol/infer_response.h"
#include "serve/request_error.h"
#include "serve/streams/stream_storage.h"
#include "serve/streams/without_folder.h"

namespace sotta {
namespace {

// A stream's files are damaged, or the disk refuses.
HttpStatus status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalid:
    case ErrorKind::kUnsupported:
      return HttpStatus::kBadRequest;
    case ErrorKind::kNotFound:
      return HttpStatus::kNotFound;
    case ErrorKind::kBadFormat:
    case ErrorKind::kIo:
      return HttpStatus::kUnavailable;
  }
  return HttpStatus::kInternal;
}

HttpResponse respond(const RequestError& error) {
  HttpResponse response;
  response.status = static_cast<int>(error.status());
  response.body = write_error(error);
  if (error.status() == HttpStatus::kTooMany)
    response.headers.emplace_back("Retry-After", "1");
  if (const auto* other = dynamic_cast<const MethodNotAllowed*>(&error))
    response.headers.emplace_back("Allow", other->allowed);
  if (dynamic_cast<const StreamElsewhere*>(&error) != nullptr) {
    response.headers.emplace_back("Retry-After", "1");
    response.headers.emplace_back(kElsewhereHeader, "1");
  }
  if (error.status() == HttpStatus::kUnauthorized)
    response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"sotta\"");
  return response;
}

}  // namespace

HttpResponse error_response(const std::exception_ptr& problem) {
  try {
    std::rethrow_exception(problem);
  } catch (const RequestError& error) {
    return respond(error);
  } catch (const Error& error) {
    return respond(RequestError(status_of(error.kind()),
                                without_folder(first_line(error))));
  } catch (const std::filesystem::filesystem_error& error) {
    return respond(RequestError(HttpStatus::kUnavailable, "state",
                                error.code().message()));
  } catch (const std::exception& error) {
    if (is_out_of_memory(error))
      return respond(RequestError(HttpStatus::kUnavailable, "server",
                                  "is out of memory, fewer images need less"));
    // LibTorch refuses images that do not fit a network.
    if (dynamic_cast<const c10::Error*>(&error) != nullptr)
      return respond(
          RequestError(HttpStatus::kBadRequest, "images",
                       "the network does not take them: " + first_line(error)));
    return respond(RequestError(HttpStatus::kInternal, "internal error",
                                first_line(error)));
  } catch (...) {
    return respond(
        RequestError(HttpStatus::kInternal, "internal error", "unknown"));
  }
}

}  // namespace sotta
