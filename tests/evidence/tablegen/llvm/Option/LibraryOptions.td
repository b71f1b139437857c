// The names and parameters that records of `python -m evidence tablegen` use of LLVM's own LibraryOptions.td, so that
// llvm-tblgen of any release can check them.

class OptionsStruct<string namespace = "llvm", string prefix = ""> {
  string Namespace = namespace;
  string Prefix = prefix;
}

class Member<string member, string spelling, string type, code default, string help> {
  string Member = member;
  string Spelling = spelling;
  string Type = type;
  code Default = default;
  string Help = help;
}

class Choices<string names, list<code> numbers> {
  string Names = names;
  list<code> Numbers = numbers;
}

multiclass BoolField<string name, code default, string help> {
  def NAME : Member<NAME, name, "bool", default, help>;
}

multiclass OptionalBoolField<string name, string help> {
  def NAME : Member<NAME, name, "optional", "", help>;
}

multiclass EnumField<string name, string type, code default, string values, list<code> enumerators, string help> {
  def NAME : Member<NAME, name, type, default, help>, Choices<values, enumerators>;
}

multiclass ValueField<string name, string type, code default, string help> {
  def NAME : Member<NAME, name, type, default, help>;
}
