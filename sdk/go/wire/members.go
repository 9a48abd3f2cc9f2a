package wire

import (
	"bytes"
	"encoding/json"
)

// members walks over the members of an object or a list in valid JSON, without copying them.
type members struct {
	raw         []byte
	at          int    // behind the bracket at first
	name, value []byte // of the present member; a list has no names
}

// next goes to the next member; it returns false behind the last.
func (m *members) next() bool {
	m.skipTo()
	if m.raw[m.at] == ',' {
		m.at++
		m.skipTo()
	}
	if last := m.raw[m.at]; last == '}' || last == ']' {
		return false
	}
	if m.raw[0] == '{' {
		end := endOfText(m.raw, m.at)
		m.name = unquoted(m.raw[m.at : end+1])
		m.at = end + 1
		m.skipTo()
		m.at++ // the colon
		m.skipTo()
	}
	end := endOfValue(m.raw, m.at)
	m.value = m.raw[m.at:end:end]
	m.at = end
	return true
}

// skipTo goes to the next byte that is not white space.
func (m *members) skipTo() {
	for isSpace(m.raw[m.at]) {
		m.at++
	}
}

func isSpace(each byte) bool { return each == ' ' || each == '\n' || each == '\t' || each == '\r' }

func unquoted(text []byte) []byte {
	if bytes.IndexByte(text, '\\') < 0 {
		return text[1 : len(text)-1]
	}
	var plain string
	_ = json.Unmarshal(text, &plain) // it is valid
	return []byte(plain)
}

// count returns the number of members of a list in valid JSON.
func count(raw []byte) int {
	found := 0
	for list := (members{raw: raw, at: 1}); list.next(); {
		found++
	}
	return found
}

// endOfValue returns the index behind the value which begins here.
func endOfValue(raw []byte, start int) int {
	index, depth := start, 0
	for ; index < len(raw); index++ {
		switch raw[index] {
		case '"':
			index = endOfText(raw, index)
		case '[', '{':
			depth++
			continue
		case ']', '}':
			if depth == 0 {
				return index
			}
			depth--
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return index
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			return index + 1
		}
	}
	return index
}

// endOfText returns the index of the quote that ends the text which begins here.
func endOfText(raw []byte, start int) int {
	index := start + 1
	for raw[index] != '"' {
		if raw[index] == '\\' {
			index++
		}
		index++
	}
	return index
}
