#pragma once

#include <string>
#include <vector>

#include "serve/http/model_repository.h"
#include "serve/http/served_model.h"
#include "serve/streams/stream_table.h"

namespace sotta {

// The JSON documents of the protocol that hold no tensors. Each is what the
// path in its comment answers.

std::string server_document();                          // /v2
std::string model_document(const ServedModel& model);   // /v2/models/M
std::string config_document(const ServedModel& model);  // .../M/config
std::string ready_document(const std::string& model);   // .../M/ready
std::string repository_document(                        // /v2/repository/index
    const std::vector<ModelRepository::Listed>& models);
std::string statistics_document(  // .../stats
    const std::vector<const ServedModel*>& models);

// .../M/streams/S
std::string stream_document(const std::string& name,
                            const StreamStatus& status);

// With its live figures.
std::string stream_document(const std::string& name, const StreamStatus& status,
                            const LiveFigures& figures);

// .../M/streams. `more` says that others follow the last one.
std::string streams_document(const std::vector<StreamTable::Listed>& streams,
                             bool more);

// .../M/streams?order=trouble
std::string streams_document(const StreamTable::Ranked& ranked);

// .../M/streams/S/snapshots
std::string snapshots_document(const std::vector<SnapshotEntry>& snapshots);

}  // namespace sotta
