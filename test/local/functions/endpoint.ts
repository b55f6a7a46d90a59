export { behave as handler } from "./behaviour.ts";
