// Browsers start no worker from a file:// address. There a hidden frame runs the worker's script,
// so that the site's search works without a server and without the network.
"use strict";

class FrameWorker extends EventTarget {
  onmessage = null;
  onerror = null;
  #frame = document.createElement("iframe");
  #ready;

  constructor(address) {
    super();
    this.#frame.hidden = true;
    document.body.append(this.#frame);
    const inside = this.#frame.contentWindow;
    inside.postMessage = (data) => this.#tell(new MessageEvent("message", { data }));
    inside.importScripts = async (...addresses) => {
      for (const one of addresses) await this.#load(one);
    };
    this.#ready = this.#load(address);
    this.#ready.catch((error) => this.#tell(new ErrorEvent("error", { message: error.message })));
  }

  postMessage(data) {
    const inside = this.#frame.contentWindow;
    const copy = structuredClone(data);
    const deliver = () => inside.dispatchEvent(new inside.MessageEvent("message", { data: copy }));
    this.#ready.then(deliver, () => {});
  }

  terminate() {
    this.#frame.remove();
  }

  #tell(event) {
    this.dispatchEvent(event);
    this[`on${event.type}`]?.(event);
  }

  #load(address) {
    const inside = this.#frame.contentDocument;
    const script = inside.createElement("script");
    script.src = new URL(address, document.baseURI).href;
    inside.body.append(script);
    return new Promise((resolve, reject) => {
      script.onload = resolve;
      script.onerror = () => reject(new Error(`cannot load ${script.src}`));
    });
  }
}

if (location.protocol === "file:") {
  window.IFrameWorker = FrameWorker; // the name by which the search script knows where it runs
  window.Worker = FrameWorker;
}
