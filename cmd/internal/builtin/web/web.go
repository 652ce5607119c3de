// Package web holds the built-in tools that read the web: web_fetch and web_search.
// They reach only public addresses, through a client that the program provides.
//
// Web content is material for the model: it is cleaned of invisible characters,
// limited in size, and marked as not being instructions.
//
//etui:tools groups=web source=builtin version=1
package web

const agent = "etui (+https://github.com/etui-run/etui)"
