package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// DecodeStep reads one step document; its error names the field that is missing or of the wrong type.
func DecodeStep(document []byte) (*Step, error) {
	step := &Step{}
	return step, decode(document, step, "step")
}

// fault is what is wrong with a part of a document. Its path is put together while the error is returned: most
// documents have none.
type fault struct {
	path, text string
	limit      error // ErrOverLimit, or nil
}

func (f *fault) Error() string {
	if f.limit != nil {
		return f.limit.Error() + ": " + f.path + f.text
	}
	return f.path + f.text
}

func (f *fault) Unwrap() error { return f.limit }

func (f *fault) in(path string) *fault {
	f.path = path + f.path
	return f
}

// decode reads an object into a struct, strictly: encoding/json accepts null for any type, ignores missing fields and
// the case of names. The tag "wire" is the rule for a field besides its type: "required",
// "true" (its default), "object", "object or null". Pointers may be null, raw JSON may be anything. The syntax is
// checked once, for the whole document; raw JSON is a part of it, not a copy.
func decode(raw []byte, into any, path string) error {
	if !utf8.Valid(raw) {
		return &fault{path: path, text: " is not UTF-8"}
	}
	if !json.Valid(raw) {
		var none json.RawMessage
		return fmt.Errorf("%s: %w", path, json.Unmarshal(raw, &none))
	}
	if found := assign(bytes.TrimSpace(raw), reflect.ValueOf(into).Elem()); found != nil {
		return found.in(path)
	}
	return nil
}

var rawType = reflect.TypeOf(json.RawMessage(nil))

func assign(raw []byte, into reflect.Value) *fault {
	if into.Type() == rawType {
		into.SetBytes(raw)
		return nil
	}
	kind := into.Kind()
	if raw[0] == 'n' {
		if kind == reflect.Pointer {
			return nil
		}
		return &fault{text: " must not be null"}
	}
	switch kind {
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		return assign(raw, into.Elem())
	case reflect.Struct:
		return assignStruct(raw, into)
	case reflect.Slice:
		return assignSlice(raw, into)
	case reflect.Map:
		return assignMap(raw, into)
	}
	return assignPlain(raw, into)
}

// assignPlain reads a text, a number or a truth value. encoding/json reads what is escaped, and names what is wrong.
func assignPlain(raw []byte, into reflect.Value) *fault {
	switch into.Kind() {
	case reflect.String:
		if raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 {
			into.SetString(string(raw[1 : len(raw)-1]))
			return nil
		}
	case reflect.Int, reflect.Int64:
		if number, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
			into.SetInt(number)
			return nil
		}
	}
	if err := json.Unmarshal(raw, into.Addr().Interface()); err != nil {
		return &fault{text: ": " + err.Error()}
	}
	return nil
}

func assignStruct(raw []byte, into reflect.Value) *fault {
	if raw[0] != '{' {
		return &fault{text: " must be an object"}
	}
	fields := fieldsOf(into.Type())
	var given uint64 // a bit for each field
	for object := (members{raw: raw, at: 1}); object.next(); {
		index := fields.index(object.name)
		if index < 0 {
			continue
		}
		given |= 1 << index
		if found := fields[index].assign(object.value, into.Field(index)); found != nil {
			return found
		}
	}
	for index := range fields {
		if given&(1<<index) != 0 {
			continue
		}
		if fields[index].rule == "required" {
			return &fault{path: "." + fields[index].name, text: " is missing"}
		}
		fill(into.Field(index), fields[index].rule)
	}
	return nil
}

// fill sets a missing field to its default.
func fill(field reflect.Value, rule string) {
	switch {
	case rule == "true":
		field.SetBool(true)
	case field.Type() == rawType:
	case field.Kind() == reflect.Slice:
		field.Set(reflect.MakeSlice(field.Type(), 0, 0))
	case field.Kind() == reflect.Map:
		field.Set(reflect.MakeMap(field.Type()))
	}
}

func assignSlice(raw []byte, into reflect.Value) *fault {
	if raw[0] != '[' {
		return &fault{text: " must be a list"}
	}
	size, index := count(raw), 0
	into.Set(reflect.MakeSlice(into.Type(), size, size))
	for list := (members{raw: raw, at: 1}); list.next(); index++ {
		if found := assign(list.value, into.Index(index)); found != nil {
			return found.in("[" + strconv.Itoa(index) + "]")
		}
	}
	return nil
}

func assignMap(raw []byte, into reflect.Value) *fault {
	if raw[0] != '{' {
		return &fault{text: " must be an object"}
	}
	into.Set(reflect.MakeMap(into.Type()))
	member := reflect.New(into.Type().Elem()).Elem()
	for object := (members{raw: raw, at: 1}); object.next(); {
		member.Set(reflect.Zero(member.Type()))
		if found := assign(object.value, member); found != nil {
			return found.in("." + string(object.name))
		}
		into.SetMapIndex(reflect.ValueOf(string(object.name)), member)
	}
	return nil
}

// field is a field of a struct: its name in a document, and the rule for it.
type field struct{ name, rule string }

func (f *field) assign(raw []byte, into reflect.Value) *fault {
	isObject := raw[0] == '{'
	if (f.rule == "object" && !isObject) || (f.rule == "object or null" && !isObject && raw[0] != 'n') {
		return &fault{path: "." + f.name, text: " must be an " + f.rule}
	}
	if found := checkList(raw, f.name); found != nil {
		return found
	}
	if found := assign(raw, into); found != nil {
		return found.in("." + f.name)
	}
	return nil
}

type fields []field

// index returns the field of this name, -1 if there is none.
func (f fields) index(name []byte) int {
	for index := range f {
		if f[index].name == string(name) {
			return index
		}
	}
	return -1
}

var known sync.Map // reflect.Type → fields

func fieldsOf(of reflect.Type) fields {
	if found, ok := known.Load(of); ok {
		return found.(fields)
	}
	made := make(fields, of.NumField())
	for index := range made {
		tag := of.Field(index).Tag
		name, _, _ := strings.Cut(tag.Get("json"), ",")
		made[index] = field{name, tag.Get("wire")}
	}
	known.Store(of, made)
	return made
}
