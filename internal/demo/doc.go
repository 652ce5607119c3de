// Package demo is a company to try etui on: some 350 tools in more than 30
// groups, as an operations team and its office would have them, and the small
// local service that answers them.
//
// [Definitions] describes the tools, [Tools] makes them callable over HTTP, and
// [Handler] is the service that they call. Both sides read the same embedded
// files: tools/<group>.json holds one group of tools, each with the answer the
// service gives, and world.json holds the company.
//
// Answers depend on the arguments and on the day, and on nothing else: there is
// no randomness, so the same question gets the same answer. Figures that no
// table holds are drawn from a hash of the arguments. What a call creates,
// changes or deletes is remembered by the handler in memory, at most 1,000
// records, and forgotten with it.
//
// An answer is a verb and its object:
//
//	list pod               records of a kind that fit the arguments
//	get ticket             the record that the first required argument names
//	create leave           a new record made of the arguments, found again by list and get
//	update expense paid    the named record with the other arguments, and this status
//	delete file            the named record is gone
//	do Ran {command}.      a sentence with arguments and drawn figures filled in
//	later Load test …      the same, after some seconds of reported progress
//
// and a few special ones (logs, metric, weather, ...) that have a file each.
//
// The package is a stage set: it checks nothing about who is calling, and it
// touches no real system.
package demo
