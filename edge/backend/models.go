package backend

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
)

// Bounds of what is believed about models: what is over them is left out, and the rest kept.
const (
	maxModels       = 256
	maxModelIDBytes = 256
)

// An answer without its list isn't a list of none, whatever its status: gateways say {"error": ...} with 200.

// openAIModels reads a list of models as OpenAI's API gives it. Adapters are models like others.
func openAIModels(body io.Reader) ([]string, error) {
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.NewDecoder(body).Decode(&list); err != nil {
		return nil, err
	}
	if list.Data == nil {
		return nil, ErrUnreadable
	}
	ids := make([]string, 0, len(list.Data))
	for _, m := range list.Data {
		ids = append(ids, m.ID)
	}
	return ids, nil
}

func ollamaModels(body io.Reader) ([]string, error) {
	var list struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	if err := json.NewDecoder(body).Decode(&list); err != nil {
		return nil, err
	}
	if list.Models == nil {
		return nil, ErrUnreadable
	}
	ids := make([]string, 0, len(list.Models))
	for _, m := range list.Models {
		ids = append(ids, m.Name)
	}
	return ids, nil
}

func tgiModel(body io.Reader) ([]string, error) {
	var info struct {
		ModelID string `json:"model_id"`
	}
	if err := json.NewDecoder(body).Decode(&info); err != nil {
		return nil, err
	}
	if info.ModelID == "" {
		return nil, ErrUnreadable
	}
	return []string{info.ModelID}, nil
}

// tidyIDs keeps the backend's order, in which the first is usually the base model.
func tidyIDs(ids []string) []string {
	tidy := make([]string, 0, min(len(ids), maxModels))
	for _, id := range ids {
		id = strings.ToValidUTF8(strings.TrimSpace(id), "\uFFFD")
		if id == "" || len(id) > maxModelIDBytes || slices.Contains(tidy, id) {
			continue
		}
		if tidy = append(tidy, id); len(tidy) == maxModels {
			break
		}
	}
	return tidy
}
