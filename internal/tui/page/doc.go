// Package page says what the console's pages list: for each page its columns, its
// rows and their order, as pure functions of one snapshot. Rows keep their types;
// text and tone are made from them at the last moment and never parsed back.
//
// It imports fleet and triage beside the console's own widgets.
package page
