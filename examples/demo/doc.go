// Package demo is a company to try etui on: several hundred tools in more than 30
// groups, as an operations team and its office would have them, and the small local
// service that answers them.
//
// [Definitions] describes the tools, [Tools] makes them callable over HTTP, and
// [Handler] is the service that they call. Both sides read the same embedded files:
// each tools/<group>.json holds one group of tools, with the service's answer for each
// tool, and world.json holds the company.
//
// Answers depend only on the arguments and the day: nothing is random, so the same
// question gets the same answer. Figures that are in no table are derived from a hash
// of the arguments. The handler remembers what calls create, change or delete in
// memory, at most 1,000 records, for as long as it lives.
//
// An answer is specified by a verb and its object:
//
//	list pod               records of a kind that fit the arguments
//	get ticket             the record that the first required argument names
//	create leave           a new record made of the arguments, found again by list and get
//	update expense paid    the named record with the other arguments, and this status
//	delete file            the named record is gone
//	do Ran {command}.      a sentence with arguments and drawn figures filled in
//	later Load test …      the same, after some seconds of reported progress
//
// and a few special ones (logs, metric, weather, ...), each with its own file.
//
// The package is only a stage set: it does not check who is calling and touches no
// real system.
package demo
