#include "contexts/storage.hpp"

#include <algorithm>
#include <utility>

namespace optctx::contexts {
namespace {

__attribute__((tls_model("initial-exec"))) constinit thread_local views::PerImage<DeepStorage*> deep{};

}  // namespace

Storage::Storage(const values::Space& space, std::vector<void*> values)
    : layout_(space.layout()), view_(std::move(values)), copies_(space, view_.data()) {
    view_.resize(layout_->size());
}

void Storage::lead(Context* owner, views::Reads* reads) noexcept {
    layout_->spread(view_.data());
    layout_->owner(view_.data()) = owner;
    layout_->reads(view_.data()) = reads;
    if (reads != nullptr) layout_->poison(view_.data(), reads, nullptr);
}

void Storage::renew(const std::vector<void*>& values) {
    std::copy(values.begin(), values.end(), view_.begin());
    copies_.renew(view_.data());
}

DeepStorage::DeepStorage(const values::Space& space, std::vector<void*> values)
    : storage(space, std::move(values)), base(storage.copies().words(storage.view())), image(space.image()) {
    deep[image] = this;
}

DeepStorage::~DeepStorage() { deep[image] = nullptr; }

DeepStorage* deep_storage(unsigned image) noexcept { return deep[image]; }

}  // namespace optctx::contexts
