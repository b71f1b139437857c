// Runs one program of the machine of properties (evidence/strategies/program.py) on this LLVM: program INPUT PASSES.
//
// Standard input has the steps, [[thread, action, [option...]]...]. Standard output gets the values of the process that
// are not the defaults, before and after the program, each followed by a line "--"; then what the steps gave,
// [[step, text or null, error or null]...].
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>
#include "compile.hpp"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/OptionContext.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/raw_ostream.h"

namespace {

struct Step {
    int64_t Thread;
    std::string Action;
    std::vector<std::string> Options;
};

struct Seen {
    std::string Text, Error;
};

StringRef Input, Passes;

std::string compile() {
    std::string Error, Text = optimise(Input, Passes, nullptr, Error);
    if (!Error.empty()) throw Error;
    return Text;
}

// The values that the thread has now, with options on top.
cl::OptionContext with(const std::vector<std::string>& Options) {
    std::optional<cl::OptionContext> Now = cl::OptionContext::capture();
    cl::OptionContext C = Now ? *Now : cl::OptionContext();
    std::vector<StringRef> Words(Options.begin(), Options.end());
    std::string Error;
    raw_string_ostream OS(Error);
    if (!C.parse(Words, OS)) throw Error;
    return C;
}

// As tools and strangers do, who know of no contexts.
void parse(const std::vector<std::string>& Options) {
    std::vector<const char*> Words{"program"};
    for (const std::string& Option : Options) Words.push_back(Option.c_str());
    std::string Error;
    raw_string_ostream OS(Error);
    if (!cl::ParseCommandLineOptions(Words.size(), Words.data(), "", &OS)) throw Error;
}

class Thread {
public:
    Thread() : Own([this] { work(); }) {}
    // Leaves what is still entered, unless the thread has ended inside it.
    ~Thread() {
        if (!Ended) give(nullptr);
        Own.join();
    }
    // Waits until the step is taken.
    void give(const Step* S) {
        std::unique_lock Lock(Mutex);
        Given = S, Waiting = true;
        Changed.notify_all();
        Changed.wait(Lock, [this] { return !Waiting; });
    }
    std::optional<Seen> Found;

private:
    using Scope = std::unique_ptr<cl::OptionContextScope>;

    void work() {
        for (bool More = true; More;) {
            std::unique_lock Lock(Mutex);
            Changed.wait(Lock, [this] { return Waiting; });
            Found.reset();
            if (Given) take(*Given);
            Ended = Given && Given->Action == "die";
            More = Given && !Ended;
            while (!More && !Scopes.empty()) {
                if (Ended) (void)Scopes.back().release();  // never left
                Scopes.pop_back();
            }
            Waiting = false;
            Changed.notify_all();
        }
    }

    void take(const Step& S) {
        try {
            act(S);
        } catch (const std::string& Error) {
            Found = {"", Error.empty() ? "failed" : Error};
        }
    }

    void act(const Step& S) {
        if (S.Action == "enter") {
            cl::OptionContext C = with(S.Options);
            Scopes.push_back(std::make_unique<cl::OptionContextScope>(C));
        } else if (S.Action == "leave" && !Scopes.empty()) {
            Scopes.pop_back();
        } else if (S.Action == "fail" && !Scopes.empty()) {
            try {
                Scope Inner = std::move(Scopes.back());
                Scopes.pop_back();
                throw 0;
            } catch (int) {
            }
        } else if (S.Action == "set") {
            parse(S.Options);
        } else if (S.Action == "compile") {
            cl::OptionContext C = with(S.Options);
            cl::OptionContextScope Inside(C);
            Found = {compile(), ""};
        } else if (S.Action == "plain") {
            Found = {compile(), ""};
        } else if (S.Action == "tool") {
            cl::OptionContext Nothing;
            cl::OptionContextScope Inside(Nothing);
            cl::ResetAllOptionOccurrences();
            parse(S.Options);
            Found = {compile(), ""};
            cl::ResetAllOptionOccurrences();
        } else if (S.Action == "task") {
            handOver(S);
        }
    }

    void handOver(const Step& S) {
        cl::OptionContext C = with(S.Options);
        cl::OptionContextScope Inside(C);
        DefaultThreadPool Pool(hardware_concurrency(1));
        Seen Result;
        Pool.async([&Result] {
            try {
                Result.Text = compile();
            } catch (const std::string& Error) {
                Result.Error = Error;
            }
        });
        Pool.wait();
        Found = std::move(Result);
    }

    std::mutex Mutex;
    std::condition_variable Changed;
    const Step* Given = nullptr;
    bool Waiting = false, Ended = false;
    std::vector<Scope> Scopes;
    std::thread Own;
};

std::vector<Step> steps(const json::Value& Told) {
    std::vector<Step> Steps;
    for (const json::Value& Each : *Told.getAsArray()) {
        const json::Array& Row = *Each.getAsArray();
        Step& S = Steps.emplace_back(Step{*Row[0].getAsInteger(), Row[1].getAsString()->str(), {}});
        for (const json::Value& Option : *Row[2].getAsArray()) S.Options.push_back(Option.getAsString()->str());
    }
    return Steps;
}

// The values of the process that are not the defaults, as LLVM prints them.
void printValues() {
    constexpr size_t width = 200;  // characters, more than the longest name
    for (auto& Entry : cl::getRegisteredOptions()) Entry.second->printOptionValue(width, false);
    outs() << "--\n";
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    Input = argv[1], Passes = argv[2];
    initialiseTargets();
    auto Told = MemoryBuffer::getSTDIN();
    if (!Told) return 2;
    auto Parsed = json::parse((*Told)->getBuffer());
    if (!Parsed) return 2;
    printValues();
    json::Array All;
    std::map<int64_t, std::unique_ptr<Thread>> Threads;
    const std::vector<Step> Steps = steps(*Parsed);
    for (size_t I = 0; I != Steps.size(); ++I) {
        auto& T = Threads[Steps[I].Thread];
        if (!T) T = std::make_unique<Thread>();
        T->give(&Steps[I]);
        if (T->Found) {
            auto text = [](std::string& S) { return S.empty() ? json::Value(nullptr) : json::Value(std::move(S)); };
            All.push_back(json::Array{int64_t(I), text(T->Found->Text), text(T->Found->Error)});
        }
        if (Steps[I].Action == "die") T.reset();
    }
    Threads.clear();
    printValues();
    outs() << json::Value(std::move(All)) << "\n";
    return 0;
}
