package terminal

import (
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Gap stands between the columns of a Table.
const Gap = "  "

// Table is without lines; a row that is wider than width is cut. 0: rows are as wide as they are.
func Table(width int) table.Writer {
	t := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", Gap
	style.Box.UnfinishedRow = "…"
	style.Format.Header = text.FormatDefault
	style.Size.WidthMax = width
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	return t
}
