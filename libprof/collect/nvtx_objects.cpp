#include "libprof/collect/nvtx_objects.hpp"

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtPayload.h>

namespace gpuprof::collect {

NvtxDomain& NvtxObjects::domain(std::string_view name) {
  if (name.empty()) return default_domain_;
  const std::lock_guard lock(mutex_);
  for (NvtxDomain& domain : domains_) {
    if (domain.name == name) return domain;
  }
  const auto number = default_domain_.number + static_cast<std::uint32_t>(domains_.size()) + 1;
  NvtxDomain& domain = domains_.emplace_back(name, number);
  domain.recorded.store(is_chosen(name));
  return domain;
}

void NvtxObjects::choose_domains(std::set<std::string> included, std::set<std::string> excluded) {
  const std::lock_guard lock(mutex_);
  included_ = std::move(included);
  excluded_ = std::move(excluded);
  default_domain_.recorded.store(is_chosen("default"));
  for (NvtxDomain& domain : domains_) domain.recorded.store(is_chosen(domain.name));
}

bool NvtxObjects::is_chosen(std::string_view name) const {
  const std::string text(name);
  return (included_.empty() || included_.contains(text)) && !excluded_.contains(text);
}

const char* NvtxObjects::text(std::string_view text) {
  const std::lock_guard lock(mutex_);
  auto known = texts_.find(text);
  if (known == texts_.end()) known = texts_.emplace(text).first;
  return known->c_str();
}

std::uint64_t NvtxObjects::add(wire::PayloadSchema schema) {
  const std::lock_guard lock(mutex_);
  if (schema.id == 0) schema.id = NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START + ++last_schema_;
  const std::uint64_t id = schema.id;
  schemas_.insert_or_assign({schema.domain, id}, std::move(schema));
  return id;
}

std::optional<wire::PayloadSchema> NvtxObjects::schema(std::uint32_t domain,
                                                       std::uint64_t id) const {
  const std::lock_guard lock(mutex_);
  const auto known = schemas_.find({domain, id});
  if (known == schemas_.end()) return std::nullopt;
  return known->second;
}

}  // namespace gpuprof::collect
