// What optctx knows of libc++, under its names and with its layouts, for compilers that have libstdc++ alone:
// std::string, std::function and the part of std::shared_ptr that counts.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>

namespace std {
namespace __1 {

template <class C>
struct char_traits;
template <class T>
struct allocator;

template <class C, class Traits, class Allocator>
class basic_string {
public:
    basic_string() : basic_string("", 0) {}
    basic_string(const C* text) : basic_string(text, std::strlen(text)) {}
    basic_string(const C* text, std::size_t size) {
        std::memset(static_cast<void*>(this), 0xA4, sizeof *this);  // bytes without a meaning
        short_.twice_size = 0;
        assign(text, size);
    }
    basic_string(const basic_string& other) : basic_string(other.data(), other.size()) {}
    basic_string& operator=(const basic_string& other) {
        if (this != &other) assign(other.data(), other.size());
        return *this;
    }
    basic_string& operator=(basic_string&& other) {
        let_go();
        std::memcpy(static_cast<void*>(this), &other, sizeof *this);
        other.short_.twice_size = 0;
        return *this;
    }
    ~basic_string() { let_go(); }

    void assign(const C* text, std::size_t size) {
        if (size > capacity()) {
            let_go();
            const std::size_t room = (size + 16) & ~std::size_t{15};
            long_ = {room | 1, size, static_cast<C*>(::operator new(room))};
        }
        std::memcpy(const_cast<C*>(data()), text, size);
        const_cast<C*>(data())[size] = 0;
        if (is_long())
            long_.size = size;
        else
            short_.twice_size = static_cast<unsigned char>(2 * size);
    }
    const C* data() const { return is_long() ? long_.data : short_.text; }
    std::size_t size() const { return is_long() ? long_.size : short_.twice_size / 2u; }

private:
#ifdef OTHER_LAYOUT
    struct Short {
        C text[23];
        unsigned char twice_size;
    };
#else
    struct Short {
        unsigned char twice_size;
        C text[23];
    };
#endif
    struct Long {
        std::size_t room_and_bit;
        std::size_t size;
        C* data;
    };
    union {
        Short short_;
        Long long_;
    };

    bool is_long() const { return short_.twice_size & 1; }
    std::size_t capacity() const { return is_long() ? long_.room_and_bit - 2 : sizeof short_.text - 1; }
    void let_go() {
        if (is_long()) ::operator delete(long_.data, long_.room_and_bit - 1);
    }
};

using string = basic_string<char, char_traits<char>, allocator<char>>;

template <class Signature>
class function;

template <class Argument>
class function<void(Argument)> {
public:
    template <class Callable>
    function(Callable callable) : called_(new (buffer_) Held<Callable>(callable)) {}
    void operator()(Argument argument) const { called_->call(argument); }

private:
    struct Base {
        virtual ~Base() = default;
        virtual Base* copy() const { return nullptr; }
        virtual void copy(Base*) const {}
        virtual void destroy() {}
        virtual void destroy_and_free() {}
        virtual void call(Argument) = 0;
    };
    template <class Callable>
    struct Held : Base {
        Held(Callable callable) : callable_(callable) {}
        void call(Argument argument) override { callable_(argument); }
        Callable callable_;
    };
    alignas(16) unsigned char buffer_[32];
    Base* called_;
};

// What a std::shared_ptr shares: 0 is one owner. `live` counts those that have not ended.
struct shared_count {
    virtual ~shared_count() { --live; }
    long more_owners = 0;
    [[maybe_unused]] long weak = 0;
    string text;
    static inline long live = 0;
};
class shared_text {
public:
    shared_text() = default;
    shared_text(const shared_text& other) : shared_text() { *this = other; }
    shared_text& operator=(const shared_text& other) {
        if (other.count_ != nullptr) ++other.count_->more_owners;
        take(other.count_);
        return *this;
    }
    shared_text& operator=(const string& text) {
        take(new shared_count);
        ++shared_count::live;
        count_->text = text;
        return *this;
    }
    ~shared_text() { take(nullptr); }
    const string* get() const { return count_ == nullptr ? nullptr : &count_->text; }

private:
    const void* object_ = nullptr;
    shared_count* count_ = nullptr;

    void take(shared_count* count) {
        if (count_ != nullptr && count_->more_owners-- == 0) delete count_;
        object_ = count_ = count;
    }
};

}  // namespace __1
}  // namespace std
