// A library with code, data and a table of virtual functions, for tests that damage its file.
#include <string>

struct Shape {
    virtual ~Shape() = default;
    virtual std::string name() const { return text; }
    std::string text = "shape";
};

static Shape shape;
static int counter = 3;

extern "C" const char* name_of_shape() {
    ++counter;
    return shape.text.c_str();
}
