package report

// HTML is the report as one self-contained page.
func (r *Report) HTML() ([]byte, error) { return nil, nil }
