#include "scopes/recorder.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace optctx::scopes {
namespace {

views::PerImage<std::atomic<std::size_t>> active{};

// The recorders of a thread, of all images. One that ends with its thread adds its reads to no enclosing recorder.
struct Recorders {
    std::vector<std::shared_ptr<Recorder>> started;
    ~Recorders() {
        for (const auto& each : started) {
            views::set_substitute(each->image(), nullptr);
            --active[each->image()];
        }
    }

    // Returns the innermost recorder of an image, or null.
    Recorder* innermost(unsigned image) const noexcept {
        const auto found = std::find_if(started.rbegin(), started.rend(),
                                        [image](const auto& each) { return each->image() == image; });
        return found == started.rend() ? nullptr : found->get();
    }
};

thread_local Recorders recorders;

}  // namespace

std::size_t active_recorders(unsigned image) noexcept { return active[image].load(); }

void count_recorders_again() noexcept {
    for (auto& count : active) count = 0;
    for (const auto& each : recorders.started) ++active[each->image()];
}

Recorder::Recorder(const values::Space& space)
    : views::Substitute(space.image()), layout_(space.layout()), words_(layout_->size()) {}

void Recorder::only(const std::vector<std::uint32_t>& readers) {
    std::vector<bool> wanted(layout_->readers().size());
    for (const std::uint32_t reader : readers) wanted.at(reader) = true;
    unwanted_ = std::make_unique<views::Reads>(wanted.size());
    for (std::size_t reader = 0; reader < wanted.size(); ++reader)
        if (!wanted[reader]) unwanted_->mark(reader);
}

std::vector<std::uint32_t> Recorder::readers(const SeenReads& seen) const {
    std::vector<std::uint32_t> found = seen.reads.readers();
    if (unwanted_ != nullptr) std::erase_if(found, [this](std::uint32_t reader) { return unwanted_->has(reader); });
    return found;
}

void Recorder::start() {
    std::shared_ptr<Recorder> self = shared_from_this();
    recorders.started.reserve(recorders.started.size() + 1);
    // What is read inside this block is no longer seen first by the enclosing one, so this one wants it also.
    if (const Recorder* outer = recorders.innermost(image()); outer != nullptr && unwanted_ != nullptr) {
        if (outer->unwanted_ != nullptr)
            unwanted_->keep_common(*outer->unwanted_);
        else
            unwanted_.reset();
    }
    handler_.emplace();
    recorders.started.push_back(std::move(self));
    views::set_substitute(image(), this);
    ++active[image()];
}

void Recorder::stop() {
    auto& started = recorders.started;
    if (started.empty() || started.back().get() != this)
        throw contexts::ScopeError(handler_ ? "it is not the innermost recording of this thread"
                                            : "it has ended already");
    const std::shared_ptr<Recorder> self = std::move(started.back());
    started.pop_back();
    --active[image()];
    Recorder* outer = recorders.innermost(image());
    if (outer != nullptr) outer->add(*this);
    views::set_substitute(image(), outer);
    handler_.reset();
}

void drop_recorders() noexcept {
    while (!recorders.started.empty()) recorders.started.back()->stop();
}

void Recorder::add(const Recorder& inner) noexcept {
    lost_ = lost_ || inner.lost_;
    for (const auto& seen : inner.seen_) seen_under(seen->context.get()).reads.add(seen->reads);
}

void Recorder::gather() noexcept {
    const auto& started = recorders.started;
    auto inner = std::find_if(started.begin(), started.end(), [this](const auto& each) { return each.get() == this; });
    if (inner == started.end()) return;
    while (++inner != started.end())
        if ((*inner)->image() == image()) add(**inner);
}

SeenReads& Recorder::seen_under(contexts::Context* context) {
    const auto found = std::find_if(seen_.rbegin(), seen_.rend(),
                                    [context](const auto& seen) { return seen->context.get() == context; });
    if (found != seen_.rend()) return **found;
    auto shared = context == nullptr ? nullptr : context->shared_from_this();
    std::unique_ptr<SeenReads> fresh(new SeenReads{std::move(shared), views::Reads(layout_->readers().size())});
    seen_.push_back(std::move(fresh));
    if (unwanted_ != nullptr) seen_.back()->reads.add(*unwanted_);
    return *seen_.back();
}

views::View Recorder::instead_of(views::View view) noexcept {
    now_ = &seen_under(layout_->owner(view));
    std::copy(view, view + layout_->regions(), words_.begin());
    layout_->owner(words_.data()) = layout_->owner(view);
    layout_->reads(words_.data()) = layout_->reads(view);
    layout_->spread(words_.data());
    layout_->poison(words_.data(), lost_ ? nullptr : &now_->reads, layout_->reads(view));
    return words_.data();
}

}  // namespace optctx::scopes
