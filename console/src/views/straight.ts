// turned are characters that turn the letters of others around.
export const turned = /[\u202a-\u202e\u2066-\u2069]/g;

// straight shows such characters of a text that is not Markdown, so that it reads as it is.
export const straight = (text: string) => text.replace(turned, (c) => "\\u" + c.charCodeAt(0).toString(16));
