/** The page's second thread: it answers while the page follows the pointer. */

import { answer } from "./compute.js";

onmessage = ({ data: { id, asked } }) => {
  try {
    postMessage({ id, found: answer(asked) });
  } catch (error) {
    postMessage({ id, failed: error.message });
  }
};
