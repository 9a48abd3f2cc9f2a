package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"unicode/utf8"
)

// DecodeStep reads one step document; its error names the field that is missing or of the wrong type.
func DecodeStep(document []byte) (*Step, error) {
	step := &Step{}
	return step, decode(document, step, "step")
}

// decode reads an object into a struct, strictly: encoding/json accepts null for any type, ignores missing fields and
// the case of names. The tag "wire" is the rule for a field besides its type: "required",
// "true" (its default), "object", "object or null". Pointers may be null, raw JSON may be anything.
func decode(raw []byte, into any, path string) error {
	if !utf8.Valid(raw) {
		return fmt.Errorf("%s is not UTF-8", path)
	}
	return assign(bytes.TrimSpace(raw), reflect.ValueOf(into).Elem(), path)
}

var rawType = reflect.TypeOf(json.RawMessage(nil))

func assign(raw []byte, into reflect.Value, path string) error {
	if into.Type() == rawType {
		into.SetBytes(raw)
		return nil
	}
	if into.Kind() == reflect.Pointer {
		if isNull(raw) {
			return nil
		}
		into.Set(reflect.New(into.Type().Elem()))
		return assign(raw, into.Elem(), path)
	}
	if isNull(raw) {
		return fmt.Errorf("%s must not be null", path)
	}
	switch into.Kind() {
	case reflect.Struct:
		return assignStruct(raw, into, path)
	case reflect.Slice:
		return assignSlice(raw, into, path)
	case reflect.Map:
		return assignMap(raw, into, path)
	}
	if err := json.Unmarshal(raw, into.Addr().Interface()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func assignStruct(raw []byte, into reflect.Value, path string) error {
	var found map[string]json.RawMessage
	if err := json.Unmarshal(raw, &found); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for index, field := range fieldsOf(into.Type()) {
		value, there := found[field.name]
		switch {
		case !there && field.rule == "required":
			return fmt.Errorf("%s.%s is missing", path, field.name)
		case !there:
			fill(into.Field(index), field.rule)
			continue
		case field.rule == "object" && value[0] != '{',
			field.rule == "object or null" && value[0] != '{' && !isNull(value):
			return fmt.Errorf("%s.%s must be an %s", path, field.name, field.rule)
		}
		if err := checkList(value, field.name, path); err != nil {
			return err
		}
		if err := assign(value, into.Field(index), path+"."+field.name); err != nil {
			return err
		}
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

func assignSlice(raw []byte, into reflect.Value, path string) error {
	var found []json.RawMessage
	if err := json.Unmarshal(raw, &found); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	into.Set(reflect.MakeSlice(into.Type(), len(found), len(found)))
	for index, value := range found {
		if err := assign(value, into.Index(index), fmt.Sprintf("%s[%d]", path, index)); err != nil {
			return err
		}
	}
	return nil
}

func assignMap(raw []byte, into reflect.Value, path string) error {
	var found map[string]json.RawMessage
	if err := json.Unmarshal(raw, &found); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	into.Set(reflect.MakeMapWithSize(into.Type(), len(found)))
	for name, value := range found {
		member := reflect.New(into.Type().Elem()).Elem()
		if err := assign(value, member, path+"."+name); err != nil {
			return err
		}
		into.SetMapIndex(reflect.ValueOf(name), member)
	}
	return nil
}

func isNull(raw []byte) bool { return string(raw) == "null" }

type field struct{ name, rule string }

var known sync.Map // reflect.Type → []field

func fieldsOf(of reflect.Type) []field {
	if found, ok := known.Load(of); ok {
		return found.([]field)
	}
	fields := make([]field, of.NumField())
	for index := range fields {
		tag := of.Field(index).Tag
		name, _, _ := strings.Cut(tag.Get("json"), ",")
		fields[index] = field{name, tag.Get("wire")}
	}
	known.Store(of, fields)
	return fields
}
