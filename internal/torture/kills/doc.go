// Package kills ends processes in the middle of what they do and has it done again: function processes at every step of a
// redemption, and shopctl at every call of every command that writes, before the call is applied, after it was applied and
// not answered, and while it is still on its way. What is kept in the end must be what an undisturbed run keeps.
//
// It has tests only, in which every step is killed at once. With -kills=100 they go on until each kind of work was killed
// that often, and print a table of it.
package kills
