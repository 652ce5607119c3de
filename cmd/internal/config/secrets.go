package config

import (
	"reflect"

	"github.com/etui-run/etui/secret"
)

// Secrets returns all values of the configuration that must stay hidden, among them
// headers with telling names.
func (c *Config) Secrets() []secret.Value { return secretsIn(reflect.ValueOf(c).Elem()) }

func secretsIn(v reflect.Value) (found []secret.Value) {
	if s, ok := v.Interface().(secret.Value); ok {
		return []secret.Value{s}
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			found = append(found, secretsIn(v.Field(i))...)
		}
	case reflect.Slice:
		for i := range v.Len() {
			found = append(found, secretsIn(v.Index(i))...)
		}
	case reflect.Map:
		for _, name := range v.MapKeys() {
			if secret.Names(name.String()) {
				found = append(found, secretsIn(v.MapIndex(name))...)
			}
		}
	}
	return found
}
