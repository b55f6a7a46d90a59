import { checkDestinationUrl } from "../../../lib/delivery/addresses.ts";

const LONGEST = `https://api.example.com/${"a".repeat(2_048 - "https://api.example.com/".length)}`;

test.each([
  "https://api.example.com/hooks/entitlements",
  "https://api.example.com:8443/hooks?key=1",
  "https://api.example.com/@hooks?to=a@b",
  "https://localhost.example.com/",
  "https://8.8.8.8/",
  "https://[2606:4700::1111]:8443/",
  LONGEST,
])("%s can be a destination", (url) => {
  expect(checkDestinationUrl(url)).toBeNull();
});

test.each([
  ["http://api.example.com/", "The URL must begin with https://."],
  ["file:///etc/passwd", "The URL must begin with https://."],
  ["api.example.com/hooks", "The URL cannot be parsed."],
  ["https://", "The URL cannot be parsed."],
  ["https://[fe80::1%25eth0]/", "The URL cannot be parsed."],
  ["https://user@api.example.com/", "The URL must not hold a user name or password."],
  ["https://:pass@api.example.com/", "The URL must not hold a user name or password."],
  ["https://:@api.example.com/", "The URL must not hold a user name or password."],
  ["https:\\\\@api.example.com/", "The URL must not hold a user name or password."],
  [" https:/\t/@api.example.com/", "The URL must not hold a user name or password."],
  ["https://api.example.com/#", "The URL must not have a fragment."],
  ["https://localhost/", "The URL must not name localhost."],
  ["https://LOCALHOST./", "The URL must not name localhost."],
  ["https://api.localhost/", "The URL must not name localhost."],
  ["https://127.0.0.1/", "The URL's address is not public."],
  ["https://2130706433/", "The URL's address is not public."],
  ["https://0x7f000001/", "The URL's address is not public."],
  ["https://0177.0.0.1/", "The URL's address is not public."],
  ["https://①②⑦.0.0.1/", "The URL's address is not public."],
  ["https://%31%32%37.0.0.1/", "The URL's address is not public."],
  ["https://169.254.169.254/latest/meta-data/", "The URL's address is not public."],
  ["https://[::1]/", "The URL's address is not public."],
  ["https://[::ffff:7f00:1]/", "The URL's address is not public."],
  ["https://[64:ff9b::a00:1]/", "The URL's address is not public."],
  [`${LONGEST}a`, "The URL is longer than 2,048 characters."],
])("%s cannot: %s", (url, problem) => {
  expect(checkDestinationUrl(url)).toBe(problem);
});

test.each([
  ["http://127.0.0.1:8080/", null],
  ["http://localhost/", null],
  ["https://[::1]/", null],
  ["https://10.0.0.1/", null],
  ["ftp://127.0.0.1/", "The URL must begin with https://."],
  ["http://user:pass@127.0.0.1/", "The URL must not hold a user name or password."],
  ["http://127.0.0.1/#part", "The URL must not have a fragment."],
  [`${LONGEST}a`, "The URL is longer than 2,048 characters."],
])("where any address is allowed, %s: %s", (url, problem) => {
  expect(checkDestinationUrl(url, () => true)).toBe(problem);
});
