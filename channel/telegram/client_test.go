package telegram_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	client "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"github.com/etui-run/etui/channel/telegram/telegramtest"
)

// TestServer: the server that the other tests use serves a client that is not ours.
func TestServer(t *testing.T) {
	t.Parallel()
	for name, webhook := range map[string]bool{"polling": false, "webhook": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := server(t)
			got := make(chan *models.Update, 10)
			bot, err := client.New(s.Token, client.WithServerURL(s.URL), client.WithWebhookSecretToken("secret"), client.WithNotAsyncHandlers(),
				client.WithErrorsHandler(func(err error) {
					if !errors.Is(err, context.Canceled) && t.Context().Err() == nil {
						t.Log(err)
					}
				}),
				client.WithDefaultHandler(func(_ context.Context, _ *client.Bot, u *models.Update) { got <- u }))
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan struct{})
			defer func() { stop(); <-ended }()
			if webhook {
				web := httptest.NewServer(bot.WebhookHandler())
				defer web.Close()
				if ok, err := bot.SetWebhook(ctx, &client.SetWebhookParams{URL: web.URL, SecretToken: "secret"}); !ok || err != nil {
					t.Fatal(ok, err)
				}
				go func() { defer close(ended); bot.StartWebhook(ctx) }()
			} else {
				go func() { defer close(ended); bot.Start(ctx) }()
			}
			next := func() *models.Update {
				select {
				case u := <-got:
					return u
				case <-t.Context().Done():
					return nil
				}
			}

			id := s.Write(object{"from": ann, "chat": private, "text": "hello", "entities": []object{{"type": "bold", "offset": 0, "length": 5}}})
			if m := next().Message; m.ID != int(id) || m.Text != "hello" || m.From.Username != "ann" || m.Chat.Type != models.ChatTypePrivate || m.Entities[0].Type != models.MessageEntityTypeBold {
				t.Errorf("got %+v", m)
			}
			m, err := bot.SendMessage(ctx, &client.SendMessageParams{
				ChatID: 4711, Text: "<b>an</b> answer", ParseMode: models.ParseModeHTML, ReplyParameters: &models.ReplyParameters{MessageID: int(id)},
				ReplyMarkup: models.InlineKeyboardMarkup{InlineKeyboard: [][]models.InlineKeyboardButton{{{Text: "Yes", CallbackData: "yes"}}}},
			})
			if err != nil || m.Text != "an answer" {
				t.Fatal(m, err)
			}
			sent := s.Sent("4711")[0]
			if sent.ReplyTo != id || len(sent.Buttons) != 1 || sent.Buttons[0].Data != "yes" {
				t.Errorf("sent %+v", sent)
			}
			s.Press(ann, private, &sent, "Yes")
			press := next().CallbackQuery
			if press.Data != "yes" || press.Message.Message.ID != m.ID || press.From.ID != 4711 {
				t.Errorf("pressed: %+v", press)
			}
			if ok, err := bot.AnswerCallbackQuery(ctx, &client.AnswerCallbackQueryParams{CallbackQueryID: press.ID}); !ok || err != nil {
				t.Error(ok, err)
			}
			if m, err := bot.EditMessageText(ctx, &client.EditMessageTextParams{ChatID: 4711, MessageID: m.ID, Text: "new"}); err != nil || m.Text != "new" {
				t.Error(m, err)
			}
			if ok, err := bot.SendChatAction(ctx, &client.SendChatActionParams{ChatID: 4711, Action: models.ChatActionTyping}); !ok || err != nil {
				t.Error(ok, err)
			}
			if ok, err := bot.SetMessageReaction(ctx, &client.SetMessageReactionParams{ChatID: 4711, MessageID: int(id), Reaction: []models.ReactionType{{Type: models.ReactionTypeTypeEmoji, ReactionTypeEmoji: &models.ReactionTypeEmoji{Emoji: "👍"}}}}); !ok || err != nil {
				t.Error(ok, err)
			}
			if ok, err := bot.SetMyCommands(ctx, &client.SetMyCommandsParams{Commands: []models.BotCommand{{Command: "new", Description: "begin"}}}); !ok || err != nil {
				t.Error(ok, err)
			}
			if _, err := bot.SendDocument(ctx, &client.SendDocumentParams{ChatID: 4711, Document: &models.InputFileUpload{Filename: "a.txt", Data: strings.NewReader("text")}}); err != nil || string(s.Sent("4711")[1].File) != "text" {
				t.Error(err)
			}
			if _, err := bot.SendPoll(ctx, &client.SendPollParams{ChatID: 4711, Question: "Where?", Options: []models.InputPollOption{{Text: "here"}, {Text: "there"}}}); err != nil {
				t.Error(err)
			}
			s.Member(-100, 4711, "creator")
			if m, err := bot.GetChatMember(ctx, &client.GetChatMemberParams{ChatID: -100, UserID: 4711}); err != nil || m.Type != models.ChatMemberTypeOwner {
				t.Error(m, err)
			}
			f, err := bot.GetFile(ctx, &client.GetFileParams{FileID: s.Upload([]byte("bytes"))})
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.Get(bot.FileDownloadLink(f))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if data, err := io.ReadAll(resp.Body); err != nil || string(data) != "bytes" {
				t.Errorf("%q, %v", data, err)
			}

			send := func(text string) error {
				_, err := bot.SendMessage(ctx, &client.SendMessageParams{ChatID: 4711, Text: text, ParseMode: models.ParseModeHTML})
				return err
			}
			if err := send("<x>"); !errors.Is(err, client.ErrorBadRequest) || !strings.Contains(err.Error(), "can't parse entities") {
				t.Error(err)
			}
			if err := send(strings.Repeat("x", 4097)); !errors.Is(err, client.ErrorBadRequest) {
				t.Error(err)
			}
			var limited *client.TooManyRequestsError
			s.Fail("sendMessage", telegramtest.Failure{Code: 429, Description: "Too Many Requests: retry after 7", RetryAfter: 7})
			if err := send("x"); !errors.As(err, &limited) || limited.RetryAfter != 7 {
				t.Error(err)
			}
			var moved *client.MigrateError
			s.Fail("sendMessage", telegramtest.Failure{Code: 400, Description: "Bad Request: group chat was upgraded to a supergroup chat", MigrateTo: -5})
			if err := send("x"); !errors.As(err, &moved) || moved.MigrateToChatID != -5 {
				t.Error(err)
			}
		})
	}
}
